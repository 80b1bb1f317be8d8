package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// Kind is why an image could not be had.
type Kind uint8

// The kinds of failures. Those up to BadImage stay as long as the name and the image are the same; the others may go away.
const (
	NotFound    Kind = iota + 1 // the registry has no such image, or the path is not there
	Denied                      // no right to the image, or to the file
	Platform                    // the image is for other processors or systems only
	BadFile                     // the file is no image, or cannot be read as one
	BadImage                    // the registry's image is not one that can be unpacked
	Unreachable                 // the registry is away, slow, or has a fault
	Busy                        // the registry limits the requests
	Damaged                     // what arrived is not what was named
	Full                        // the disk has too little free space
	Local                       // this machine failed: a folder, a program, the disk
)

// Error is the error of Resolve and Fetch, but for the end of their context.
type Error struct {
	Kind   Kind
	Image  string // the name of the image
	Reason string // with the registry's or the system's own words
	Remedy string
}

func (e *Error) Error() string {
	text := fmt.Sprintf("image %s: %s", e.Image, e.Reason)
	if e.Remedy != "" {
		text += ": " + e.Remedy
	}
	return text
}

// Later reports whether the same request may succeed later or on another node, without a change of the image or its name.
func (e *Error) Later() bool { return e.Kind > BadImage }

// Later reports whether err is an error of this package after which the same request may succeed later or on another node.
func Later(err error) bool {
	e, is := errors.AsType[*Error](err)
	return is && e.Later()
}

// fault is an error whose kind is known where it arises; the name of the image is added by the caller.
type fault struct {
	kind   Kind
	reason string
	remedy string
}

func (f *fault) Error() string { return f.reason }

// failed returns a fault.
func failed(kind Kind, remedy, reason string, args ...any) error {
	return &fault{kind: kind, reason: fmt.Sprintf(reason, args...), remedy: remedy}
}

const (
	remedyReach  = "check that the node reaches the registry, or try again later"
	remedyRights = "check the name, and the login for this registry in docker's config.json or enroot's .credentials"
	remedyDisk   = "free space, or give another folder for images"
)

// explain returns err as an *Error about an image. The end of the context stays what it is.
func explain(ctx context.Context, image string, err error) error {
	if err == nil {
		return nil
	}
	if _, is := errors.AsType[*Error](err); is {
		return err
	}
	if cause := ctx.Err(); cause != nil {
		return cause
	}
	f := judge(err)
	return &Error{Kind: f.kind, Image: image, Reason: f.reason, Remedy: f.remedy}
}

// judge returns what an error means. Errors that are not known are those of a connection.
func judge(err error) *fault {
	if f, is := errors.AsType[*fault](err); is {
		return f
	}
	if e, is := errors.AsType[*transport.Error](err); is {
		return judgeAnswer(e)
	}
	if e, is := errors.AsType[*plainHTTP](err); is && (!e.first || errors.Is(err, http.ErrSchemeMismatch)) {
		return &fault{BadImage, e.Error(), "use a registry with https"}
	}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return &fault{Full, "the disk is full: " + plain(err), remedyDisk}
	case isLocal(err):
		return &fault{Local, plain(err), "check the folder of images and its rights"}
	}
	return &fault{Unreachable, plain(err), remedyReach}
}

// isLocal reports whether an error is of a file or a program of this machine.
func isLocal(err error) bool {
	if _, is := errors.AsType[net.Error](err); is {
		return false
	}
	return isOne(err, syscall.EACCES, syscall.EPERM, syscall.EROFS, syscall.EIO, syscall.ENOENT, syscall.ENOTDIR, syscall.EEXIST,
		syscall.ELOOP,
		syscall.ENAMETOOLONG, syscall.EMFILE, syscall.ENFILE, syscall.EINVAL, syscall.EISDIR, syscall.EMLINK, syscall.EFBIG, syscall.ESTALE)
}

// isOne reports whether an error is one of the system's.
func isOne(err error, codes ...syscall.Errno) bool {
	for _, code := range codes {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}

// judgeAnswer returns what a registry's refusal means.
func judgeAnswer(e *transport.Error) *fault {
	says := answer(e)
	switch code := e.StatusCode; {
	case code == http.StatusTooManyRequests || has(e, transport.TooManyRequestsErrorCode):
		return &fault{Busy, "the registry limits the number of requests: " + says, "try again later, or add a login for this registry, which may have a higher limit"}
	case code == http.StatusNotFound:
		return &fault{NotFound, "the registry has no such image: " + says, "check the name and the tag"}
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return &fault{Denied, "there is no such image, or no right to it: " + says, remedyRights}
	case code >= http.StatusInternalServerError || code == http.StatusRequestTimeout:
		return &fault{Unreachable, "the registry has a fault: " + says, remedyReach}
	default:
		return &fault{BadImage, "the registry refuses the request: " + says, "check the name"}
	}
}

func has(e *transport.Error, code transport.ErrorCode) bool {
	for _, d := range e.Errors {
		if d.Code == code {
			return true
		}
	}
	return false
}

// answer returns the status and the words of a registry's answer, without the URL of the request, which may hold a
// signature that is as good as a password.
func answer(e *transport.Error) string {
	text := fmt.Sprintf("%d %s", e.StatusCode, http.StatusText(e.StatusCode))
	for _, d := range e.Errors {
		if d.Message != "" || d.Code != "" {
			text += fmt.Sprintf(", %s %s", d.Code, strings.ToValidUTF8(d.Message, "?"))
		}
	}
	return limited(text)
}

// plain returns the text of an error without the query of a URL in it.
func plain(err error) string {
	if e, is := errors.AsType[*url.Error](err); is {
		host := e.URL
		if u, bad := url.Parse(e.URL); bad == nil {
			host = u.Host
		}
		return limited(host + ": " + e.Err.Error())
	}
	return limited(err.Error())
}

func limited(text string) string {
	if len(text) > 600 {
		return strings.ToValidUTF8(text[:600], "") + "..."
	}
	return text
}
