// Computes what Go has other code for on other CPUs, with goroutines, and says when it was done.
package main

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"math"
	"math/big"
	"sync"
	"time"
)

func main() {
	var all sync.WaitGroup
	found := make([]string, 4)
	for i := range found {
		all.Go(func() {
			sum, data := 0.0, make([]byte, 1<<16)
			for n := 1; n < 2000; n++ {
				x := float64(n + i)
				sum += math.FMA(math.Exp(-x*0.013), math.Sin(x*0.7), math.Pow(x, 1/3.0)) + math.Log(x)
				data[n*31%len(data)] = byte(n)
			}
			block, _ := aes.NewCipher(data[:32])
			gcm, _ := cipher.NewGCM(block)
			sealed := gcm.Seal(nil, data[:gcm.NonceSize()], data, nil)
			found[i] = fmt.Sprintf("%b %x %x", sum, sha256.Sum256(sealed), crc32.ChecksumIEEE(sealed))
		})
	}
	all.Wait()
	words := map[string]int{}
	for i := range 300 {
		words[new(big.Int).Exp(big.NewInt(int64(i)), big.NewInt(20), nil).String()] = i
	}
	for word, i := range words { // in an order that is random, and follows from the cell's seed
		found = append(found, fmt.Sprint(word, i))
	}
	for _, line := range found {
		fmt.Println(line)
	}
	fmt.Println(time.Now().UnixNano())
}
