/* Waits that libfaketime (0.9.10) gets wrong; loaded before it by tests.faults.injections.clock.

   - Its clock_nanosleep fails with EINVAL for an absolute time of CLOCK_MONOTONIC that has passed already, which Python's time.sleep takes
     for an error. Sleeps go to the kernel.
   - It does not know cnd_timedwait, in which librdkafka waits until a time that it made of the wrong clock. The kernel knows the right one
     only, and would wait for as long as the clock is wrong. The time is made right. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>

#define SECOND 1000000000L

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *wanted, struct timespec *left)
{
    return syscall(SYS_clock_nanosleep, clock, flags, wanted, left) == 0 ? 0 : errno;
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    return (int) syscall(SYS_nanosleep, wanted, left);
}

int cnd_timedwait(cnd_t *condition, mtx_t *mutex, const struct timespec *wanted)
{
    static int (*of_libc)(cnd_t *, mtx_t *, const struct timespec *);
    struct timespec wrong, right, until = *wanted;

    if (of_libc == NULL)
        of_libc = dlsym(RTLD_NEXT, "cnd_timedwait");
    clock_gettime(CLOCK_REALTIME, &wrong);
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &right);
    until.tv_sec -= wrong.tv_sec - right.tv_sec;
    until.tv_nsec -= wrong.tv_nsec - right.tv_nsec;
    while (until.tv_nsec < 0) {
        until.tv_nsec += SECOND;
        until.tv_sec -= 1;
    }
    while (until.tv_nsec >= SECOND) {
        until.tv_nsec -= SECOND;
        until.tv_sec += 1;
    }
    return of_libc(condition, mutex, &until);
}
