package core

// The parts of an API that tests change or look at.

func (a *API) Gate() *gate { return a.gate }

func (a *API) Life() *life { return &a.life }

func (a *API) ReviewNow() { a.held.ReviewNow() }

func (a *API) Reviews() bool { return a.held.Reviews() }

func (a *API) Open() *openRequests { return a.open }
