// What waiting takes: sleep, wake, poll, busy, yield, in us.
package main

import (
	"fmt"
	"net"
	"runtime"
	"sync/atomic"
	"time"
)

func say(name string, since time.Time) {
	fmt.Println(name, time.Since(since).Microseconds())
}

func main() {
	runtime.GOMAXPROCS(4)
	t := time.Now()
	time.Sleep(20 * time.Millisecond)
	say("sleep", t)

	t = time.Now()
	told := make(chan bool)
	go func() { time.Sleep(20 * time.Millisecond); told <- true }()
	<-told
	say("wake", t)

	t = time.Now()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	socket.SetReadDeadline(t.Add(30 * time.Millisecond))
	socket.ReadFrom(make([]byte, 1))
	say("poll", t)

	t = time.Now()
	for time.Since(t) < 5*time.Millisecond {
	}
	say("busy", t)

	t = time.Now()
	var spun atomic.Bool
	go func() { time.Sleep(5 * time.Millisecond); spun.Store(true) }()
	for !spun.Load() {
		runtime.Gosched()
	}
	say("yield", t)
}
