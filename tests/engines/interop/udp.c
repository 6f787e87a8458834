/* Moves a file of one datagram over UDP port 443: `udp` serves standard input to whoever sends
   something, `udp ADDRESS` asks, and writes what comes to standard output. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv) {
    static char data[1400];
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(443)};
    socklen_t size = sizeof at;
    int s = socket(AF_INET, SOCK_DGRAM, 0);
    if (argc > 1) {
        inet_pton(AF_INET, argv[1], &at.sin_addr);
        sendto(s, "x", 1, 0, (void *)&at, size);
        ssize_t got = recv(s, data, sizeof data, 0);
        return got < 0 || write(1, data, got) != got;
    }
    if (bind(s, (void *)&at, size)) return 1;
    ssize_t length = read(0, data, sizeof data);
    for (char asked[8]; recvfrom(s, asked, sizeof asked, 0, (void *)&at, &size) > 0;)
        sendto(s, data, length, 0, (void *)&at, size);
    return 1;
}
