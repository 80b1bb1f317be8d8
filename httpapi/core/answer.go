package core

// Answer is a body and the index of the state that it shows.
type Answer[T any] struct {
	Index uint64 `header:"X-Berth-Index" doc:"index of the state that the answer is about"`
	ETag  string `header:"ETag" doc:"of lists that If-None-Match is for"`
	Body  *T
}

// SignedIn is a body together with a cookie.
type SignedIn[T any] struct {
	Index  uint64 `header:"X-Berth-Index" doc:"index of the state that the answer is about"`
	Cookie string `header:"Set-Cookie" doc:"the session, which scripts cannot read"`
	Body   *T
}
