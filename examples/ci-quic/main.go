// The library under test, as its own users have it: a server that sends as many bytes as a stream
// asks for, and a client that opens some connections and downloads over each.
//
//	ci-quic server PORT
//	ci-quic client HOST PORT CONNECTIONS BYTES
//
// The client writes transfer.json: times in ms of each connection's handshake and download.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
)

const protocol = "ci-quic"

func main() {
	log.SetFlags(0)
	if len(os.Args) == 3 && os.Args[1] == "server" {
		log.Fatal(serve(":" + os.Args[2]))
	}
	if len(os.Args) != 6 || os.Args[1] != "client" {
		log.Fatal("usage: ci-quic server PORT | client HOST PORT CONNECTIONS BYTES")
	}
	connections, err := strconv.Atoi(os.Args[4])
	if err != nil {
		log.Fatal(err)
	}
	bytes, err := strconv.ParseUint(os.Args[5], 10, 63)
	if err != nil {
		log.Fatal(err)
	}
	if err := download(net.JoinHostPort(os.Args[2], os.Args[3]), connections, bytes); err != nil {
		log.Fatal(err)
	}
}

func serve(address string) error {
	certificate, err := selfSigned()
	if err != nil {
		return err
	}
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{protocol}}
	listener, err := quic.ListenAddr(address, config, nil)
	if err != nil {
		return err
	}
	for {
		connection, err := listener.Accept(context.Background())
		if err != nil {
			return err
		}
		go func() {
			for {
				stream, err := connection.AcceptStream(context.Background())
				if err != nil {
					return // the client has closed it
				}
				go answer(stream)
			}
		}()
	}
}

func answer(stream *quic.Stream) {
	var wanted uint64
	if err := binary.Read(stream, binary.BigEndian, &wanted); err != nil {
		log.Print(err)
		return
	}
	block := make([]byte, 1<<16)
	for wanted > 0 {
		part := min(wanted, uint64(len(block)))
		if _, err := stream.Write(block[:part]); err != nil {
			log.Print(err)
			return
		}
		wanted -= part
	}
	stream.Close()
}

type result struct {
	Handshake float64 `json:"handshake"`
	Download  float64 `json:"download"`
}

func download(address string, connections int, bytes uint64) error {
	results, errors := make([]result, connections), make([]error, connections)
	var all sync.WaitGroup
	for i := range connections {
		all.Go(func() { results[i], errors[i] = one(address, bytes) })
	}
	all.Wait()
	for _, err := range errors {
		if err != nil {
			return err
		}
	}
	slowest := slices.MaxFunc(results, func(a, b result) int { return int(a.Download - b.Download) })
	text, err := json.Marshal(map[string]any{"slowest": slowest, "all": results})
	if err != nil {
		return err
	}
	return os.WriteFile("transfer.json", text, 0o644)
}

func one(address string, bytes uint64) (result, error) {
	begin := time.Now()
	since := func() float64 { return float64(time.Since(begin).Microseconds()) / 1000 }
	config := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}}
	connection, err := quic.DialAddr(context.Background(), address, config, nil)
	if err != nil {
		return result{}, err
	}
	defer connection.CloseWithError(0, "")
	found := result{Handshake: since()}
	stream, err := connection.OpenStreamSync(context.Background())
	if err != nil {
		return result{}, err
	}
	if err := binary.Write(stream, binary.BigEndian, bytes); err != nil {
		return result{}, err
	}
	stream.Close()
	received, err := io.Copy(io.Discard, stream)
	if err != nil {
		return result{}, err
	}
	if uint64(received) != bytes {
		return result{}, fmt.Errorf("received %d of %d bytes", received, bytes)
	}
	found.Download = since()
	return found, nil
}

func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	made, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{made}, PrivateKey: key}, nil
}
