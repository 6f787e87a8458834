// The entry point of an image by the contract of quic-interop-runner, with quic-go's own programs.
package main

import (
	"log"
	"os"
	"strings"
	"syscall"
)

func main() {
	program, arguments := "/server", os.Getenv("SERVER_PARAMS")
	if os.Getenv("ROLE") == "client" {
		program, arguments = "/client", os.Getenv("CLIENT_PARAMS")+" "+os.Getenv("REQUESTS")
	}
	command := append([]string{program}, strings.Fields(arguments)...)
	log.Fatal(syscall.Exec(program, command, os.Environ()))
}
