/* A sender of syslog messages the obvious way, to measure ours against: it formats each message
 * and makes one send() for it, over five connections in turn, as syslog test senders do.
 *
 *   naive_sender PORT MESSAGES FORMAT FRAMING < lengths
 *
 * FORMAT is rfc3164 or rfc5424, FRAMING is lf or octet-counted.  Standard input has lengths of
 * messages in bytes, framing excluded, one a line; they are used in turn.  Prints the CPU seconds
 * and the seconds that sending took, connecting left out.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#define CONNECTIONS 5
#define MOST_LENGTHS 65536
#define MOST_BYTES 16384

static char filler[MOST_BYTES + 1];
static int lengths[MOST_LENGTHS];

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static int connected(int port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
	int descriptor = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (descriptor < 0 || connect(descriptor, (struct sockaddr *)&address, sizeof address))
		fail("connect");
	return descriptor;
}

static void send_all(int descriptor, const char *data, size_t left)
{
	while (left) {
		ssize_t taken = send(descriptor, data, left, 0);

		if (taken < 0)
			fail("send");
		data += taken;
		left -= taken;
	}
}

static double cpu_seconds(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return used.ru_utime.tv_sec + used.ru_stime.tv_sec +
	       (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/* The head of a message; the time is written anew when the second changes. */
static int head_of(char *text, size_t room, int rfc5424, long number)
{
	static char stamp[64];
	static time_t written;
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (now.tv_sec != written) {
		struct tm parts;

		localtime_r(&now.tv_sec, &parts);
		strftime(stamp, sizeof stamp, rfc5424 ? "%Y-%m-%dT%H:%M:%S" : "%b %e %H:%M:%S", &parts);
		written = now.tv_sec;
	}
	if (rfc5424)
		return snprintf(text, room, "<134>1 %s.%06ld+00:00 web-01 app 4711 - - run=0a1b2c3d seq=%012ld ",
				stamp, now.tv_nsec / 1000, number);
	return snprintf(text, room, "<134>%s web-01 app[4711]: run=0a1b2c3d seq=%012ld ", stamp, number);
}

int main(int count, char **arguments)
{
	static char head[512], message[2 * MOST_BYTES];
	int descriptors[CONNECTIONS], known = 0;
	double cpu, started;

	if (count != 5) {
		fprintf(stderr, "usage: naive_sender PORT MESSAGES FORMAT FRAMING < lengths\n");
		return 64;
	}
	long messages = atol(arguments[2]);
	int rfc5424 = !strcmp(arguments[3], "rfc5424");
	int counted = !strcmp(arguments[4], "octet-counted");

	memset(filler, 'x', MOST_BYTES);
	while (known < MOST_LENGTHS && scanf("%d", &lengths[known]) == 1 && lengths[known] < MOST_BYTES)
		known++;
	if (!known)
		return 64;
	for (int i = 0; i < CONNECTIONS; i++)
		descriptors[i] = connected(atoi(arguments[1]));

	cpu = cpu_seconds();
	started = seconds();
	for (long number = 0; number < messages; number++) {
		int length = lengths[number % known];
		int used = head_of(head, sizeof head, rfc5424, number);
		int body = length > used ? length - used : 0;
		int size = counted ? snprintf(message, sizeof message, "%d %s%.*s", used + body, head, body, filler)
				   : snprintf(message, sizeof message, "%s%.*s\n", head, body, filler);

		send_all(descriptors[number % CONNECTIONS], message, size);
	}
	printf("%.6f %.6f\n", cpu_seconds() - cpu, seconds() - started);
	return 0;
}
