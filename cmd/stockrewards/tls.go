package main

type tlsFlags struct {
	TLSCert string `name:"tls-cert" placeholder:"FILE" help:"Serve TLS with this certificate (PEM, with its chain); a renewed file is reloaded."`
	TLSKey  string `name:"tls-key" placeholder:"FILE" help:"Use this private key of --tls-cert (PEM)."`
}

func (f tlsFlags) checkTLS() error {
	if (f.TLSCert == "") != (f.TLSKey == "") {
		return usageErrorf("--tls-cert and --tls-key belong together: give both or neither")
	}
	return nil
}
