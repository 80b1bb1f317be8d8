package examine

import (
	"context"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/build"
	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/trust"
)

// Standing asks the API of a peer why the cluster refuses the certificate of this machine. The certificate is shown in the request and
// not in the handshake, which would end with it. A peer of a later generation is noted: see [trust.Credentials.Later].
func Standing(ctx context.Context, own *trust.Credentials, address string) (*wire.Standing, error) {
	visit := trust.Visitor(own.Known(), own.Now, func(k trust.Known) { own.Outlive(k.Generation) })
	c, err := client.New(client.Options{
		Addresses: []string{address}, UserAgent: "berth/" + build.Version(), Version: build.Version(), Patience: time.Millisecond,
		Dial: cli.DialTLS(visit),
	})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return client.MembersOf(c).Standing(ctx, own.Leaf().Raw)
}
