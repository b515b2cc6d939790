// SPDX-License-Identifier: Apache-2.0
#include "agent/data/decoder/confine.h"

#include <assert.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef __has_feature /* clang's way to say it */
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                               \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { IS_INSTRUMENTED = 1 };
#else
enum { IS_INSTRUMENTED = 0 };
#endif

#ifdef __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#else
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/* ---- seccomp ---- */

/* Memory, threads, time, and an orderly end. Of descriptors there are only /dev/null and the
 * socket. */
static const int allowed[] = {
    __NR_read,
    __NR_write,
    __NR_recvfrom,
    __NR_sendto,
    __NR_munmap,
    __NR_mremap,
    __NR_madvise,
    __NR_brk,
    __NR_futex,
    __NR_exit,
    __NR_exit_group,
    __NR_rt_sigreturn,
    __NR_rt_sigaction,
    __NR_rt_sigprocmask,
    __NR_sigaltstack,
    __NR_sched_yield,
    __NR_getpid,
    __NR_gettid,
    __NR_clock_gettime,
    __NR_gettimeofday, /* where the vDSO has no clock to read */
    __NR_nanosleep,
    __NR_clock_nanosleep,
    __NR_getrandom,
    __NR_set_robust_list,
    __NR_rseq,
    __NR_membarrier,
    __NR_restart_syscall,
    __NR_sched_getaffinity,
    __NR_clock_getres,
    __NR_uname,
};

/* A decoder never needs these: a process that calls one does not decode any more. All others fail
 * with EPERM.
 */
static const int deadly[] = {
    __NR_socket,
    __NR_socketpair,
    __NR_connect,
    __NR_bind,
    __NR_listen,
    __NR_accept,
    __NR_accept4,
    __NR_sendmsg,
    __NR_sendmmsg,
    __NR_recvmsg,
    __NR_execve,
    __NR_execveat,
    __NR_ptrace,
    __NR_process_vm_readv,
    __NR_process_vm_writev,
    __NR_pidfd_getfd,
    __NR_pidfd_open,
    __NR_kill,
    __NR_tkill,
    __NR_rt_sigqueueinfo,
    __NR_mount,
    __NR_umount2,
    __NR_unshare,
    __NR_setns,
    __NR_chroot,
    __NR_pivot_root,
    __NR_bpf,
    __NR_keyctl,
    __NR_add_key,
    __NR_request_key,
    __NR_perf_event_open,
    __NR_userfaultfd,
    __NR_io_uring_setup,
    __NR_init_module,
    __NR_finit_module,
    __NR_kexec_load,
    __NR_setuid,
    __NR_setgid,
    __NR_seccomp,
};

enum { LINES_MAX = 256, REFUSE = SECCOMP_RET_ERRNO | EPERM, ABSENT = SECCOMP_RET_ERRNO | ENOSYS };

struct filter {
    struct sock_filter lines[LINES_MAX];
    unsigned short count;
};

static void add(struct filter *filter, uint16_t code, uint8_t if_not, uint32_t value) {
    assert(filter->count < LINES_MAX);
    filter->lines[filter->count++] = (struct sock_filter){code, 0, if_not, value};
}

static void load(struct filter *filter, size_t offset) {
    add(filter, BPF_LD | BPF_W | BPF_ABS, 0, (uint32_t)offset);
}

static void end_with(struct filter *filter, uint32_t action) {
    add(filter, BPF_RET | BPF_K, 0, action);
}

/* Skips the next `lines` unless the loaded value passes the test: BPF_JEQ, BPF_JSET. */
static void only_if(struct filter *filter, uint16_t test, uint32_t value, uint8_t lines) {
    add(filter, BPF_JMP | test | BPF_K, lines, value);
}

/* A call with one argument that decides, by its lower half: the action if it passes the test, else
 * another. */
static void add_call(struct filter *filter, int call, int argument, uint16_t test, uint32_t value,
                     const uint32_t actions[static 2]) {
    only_if(filter, BPF_JEQ, (uint32_t)call, 4);
    load(filter, offsetof(struct seccomp_data, args) + 8 * (size_t)argument);
    only_if(filter, test, value, 1);
    end_with(filter, actions[0]);
    end_with(filter, actions[1]);
}

/* Signals go only to this process itself, and only the one of abort(). */
static void add_abort(struct filter *filter) {
    only_if(filter, BPF_JEQ, __NR_tgkill, 6);
    load(filter, offsetof(struct seccomp_data, args));
    only_if(filter, BPF_JEQ, (uint32_t)getpid(), 3);
    load(filter, offsetof(struct seccomp_data, args) + 16);
    only_if(filter, BPF_JEQ, SIGABRT, 1);
    end_with(filter, SECCOMP_RET_ALLOW);
    end_with(filter, SECCOMP_RET_KILL_PROCESS);
}

static void make_filter(struct filter *filter) {
    static const uint32_t refuse_if[] = {REFUSE, SECCOMP_RET_ALLOW};
    static const uint32_t allow_if[] = {SECCOMP_RET_ALLOW, REFUSE};
    static const uint32_t kill_unless[] = {SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS};
    load(filter, offsetof(struct seccomp_data, arch));
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, 1, ARCHITECTURE);
    add(filter, BPF_JMP | BPF_JA | BPF_K, 0, 1);
    end_with(filter, SECCOMP_RET_KILL_PROCESS);
    load(filter, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < ARRAY_LEN(allowed); i++) {
        only_if(filter, BPF_JEQ, (uint32_t)allowed[i], 1);
        end_with(filter, SECCOMP_RET_ALLOW);
    }
    for (size_t i = 0; i < ARRAY_LEN(deadly); i++) {
        only_if(filter, BPF_JEQ, (uint32_t)deadly[i], 1);
        end_with(filter, SECCOMP_RET_KILL_PROCESS);
    }
    only_if(filter, BPF_JEQ, __NR_clone3,
            1); /* its flags are in memory; libraries take clone then */
    end_with(filter, ABSENT);
    add_call(filter, __NR_prctl, 0, BPF_JEQ, PR_SET_NAME, allow_if);
    /* The two below load an argument, so the number is lost only in their own lines. */
    add_call(filter, __NR_mmap, 2, BPF_JSET, PROT_EXEC, refuse_if);
    add_call(filter, __NR_mprotect, 2, BPF_JSET, PROT_EXEC, refuse_if);
    add_call(filter, __NR_clone, 0, BPF_JSET, CLONE_THREAD, kill_unless);
    add_abort(filter);
    end_with(filter, REFUSE);
}

static bool confine_calls(void) {
    struct filter filter = {.count = 0};
    make_filter(&filter);
    struct sock_fprog program = {filter.count, filter.lines};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* ---- the rest ---- */

/* As struct landlock_ruleset_attr of newer headers than Debian 12's. */
struct landlock_rights {
    uint64_t files, net, scopes;
};

/* All rights that this kernel knows are handled, and none is granted. */
static bool confine_files(void) {
    static const uint64_t files[] = {0, 0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff};
    long version = syscall(__NR_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1) {
        return false;
    }
    struct landlock_rights rights = {.files = files[MIN(version, (long)ARRAY_LEN(files) - 1)],
                                     .net = version >= 4 ? 3 : 0,
                                     .scopes = version >= 6 ? 3 : 0};
    size_t size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
    int fd = (int)syscall(__NR_landlock_create_ruleset, &rights, size, 0);
    bool is_in_force = fd >= 0 && syscall(__NR_landlock_restrict_self, fd, 0) == 0;
    fd_closep(&fd);
    return is_in_force;
}

static bool confine_limits(int64_t memory_bytes) {
    struct rlimit none = {0, 0}, memory = {(rlim_t)memory_bytes, (rlim_t)memory_bytes};
    return setrlimit(RLIMIT_NOFILE, &none) == 0 && setrlimit(RLIMIT_CORE, &none) == 0 &&
           setrlimit(RLIMIT_FSIZE, &none) == 0 &&
           (IS_INSTRUMENTED || setrlimit(RLIMIT_AS, &memory) == 0);
}

unsigned confine_enter(int64_t memory_bytes) {
    unsigned parts = 0;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_DUMPABLE, 0) == 0) {
        parts |= CONFINE_PRIVILEGES;
    }
    if (!IS_INSTRUMENTED && confine_files()) { /* before the limit of descriptors: it takes one */
        parts |= CONFINE_FILES;
    }
    if (confine_limits(memory_bytes)) {
        parts |= CONFINE_LIMITS;
    }
    if (!IS_INSTRUMENTED && confine_calls()) {
        parts |= CONFINE_CALLS;
    }
    return parts;
}

unsigned confine_possible(void) {
    return IS_INSTRUMENTED ? CONFINE_PRIVILEGES | CONFINE_LIMITS : CONFINE_ALL;
}

char *confine_missing(unsigned parts) {
    static const struct {
        unsigned part;
        const char *name;
    } names[] = {{CONFINE_PRIVILEGES, "no_new_privs"},
                 {CONFINE_LIMITS, "resource limits"},
                 {CONFINE_FILES, "Landlock"},
                 {CONFINE_CALLS, "seccomp"}};
    char *text = x_strdup("");
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (!(parts & names[i].part)) {
            char *longer = x_printf("%s%s%s", text, *text ? ", " : "", names[i].name);
            free(text);
            text = longer;
        }
    }
    return text;
}
