/* A program that cannot be told to end: LD_PRELOAD=... makes it ignore SIGTERM whatever it asks for. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>

int sigaction(int number, const struct sigaction *wanted, struct sigaction *before)
{
	static int (*real)(int, const struct sigaction *, struct sigaction *);
	const struct sigaction ignore = {.sa_handler = SIG_IGN};

	if (!real)
		real = (int (*)(int, const struct sigaction *, struct sigaction *))dlsym(
			RTLD_NEXT, "sigaction");
	return real(number, number == SIGTERM && wanted ? &ignore : wanted, before);
}
