/* Names of addresses, so many milliseconds late: LD_PRELOAD=... SLOW_NAMES_MS=300. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <stdlib.h>
#include <unistd.h>

int getnameinfo(const struct sockaddr *address, socklen_t length, char *host, socklen_t host_length,
		char *service, socklen_t service_length, int flags)
{
	int (*real)(const struct sockaddr *, socklen_t, char *, socklen_t, char *, socklen_t, int) =
		(int (*)(const struct sockaddr *, socklen_t, char *, socklen_t, char *, socklen_t,
			 int))dlsym(RTLD_NEXT, "getnameinfo");
	const char *late = getenv("SLOW_NAMES_MS");

	if (late && !(flags & NI_NUMERICHOST))
		usleep(1000 * (useconds_t)atoi(late));
	return real(address, length, host, host_length, service, service_length, flags);
}
