/* Sleeps that libfaketime does not touch: its clock_nanosleep (0.9.10) fails with EINVAL for an absolute time of CLOCK_MONOTONIC that
   has passed already, which Python's time.sleep takes for an error. Loaded before libfaketime by tests.faults.injections.clock. */

#define _GNU_SOURCE
#include <errno.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *wanted, struct timespec *left)
{
    return syscall(SYS_clock_nanosleep, clock, flags, wanted, left) == 0 ? 0 : errno;
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    return (int) syscall(SYS_nanosleep, wanted, left);
}
