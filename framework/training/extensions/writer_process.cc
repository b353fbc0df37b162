#include "kusari/framework/training/extensions/writer_process.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kusari/framework/core/error.h"

namespace kusari::training::extensions::snapshot_writers {
namespace {

int open_process(pid_t process) noexcept {
#if defined(SYS_pidfd_open)
  return static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
#else
  static_cast<void>(process);
  return -1;
#endif
}

void wait_for_end(int process_descriptor) noexcept {
  pollfd end{process_descriptor, POLLIN, 0};
  while (::poll(&end, 1, -1) < 0 && errno == EINTR) {
  }
}

}  // namespace

struct WriterProcess::Outcome {
  enum State { running, done, failed };
  std::atomic<State> state{running};
  char text[4096 - sizeof(std::atomic<State>)] = {};  // of the failure
};

WriterProcess::WriterProcess(const Callable<void()>& task, const WriterProcess* before) {
  // Where processes cannot wait for each other, this one does.
  if (before != nullptr && before->process_ >= 0 && before->descriptor_ < 0) {
    siginfo_t ignored;
    while (::waitid(P_PID, static_cast<id_t>(before->process_), &ignored, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
    }
  }
  void* const shared = ::mmap(nullptr, sizeof(Outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw WorkerError(std::string("snapshot writer: mmap: ") + std::strerror(errno));
  outcome_ = new (shared) Outcome;
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ < 0) {
    const int error = errno;
    ::munmap(outcome_, sizeof(Outcome));
    throw WorkerError(std::string("snapshot writer: cannot fork: ") + std::strerror(error));
  }
  if (process_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);  // it was killed before
    // Ctrl-C ends training, which then waits for its last snapshot.
    std::signal(SIGINT, SIG_IGN);
    if (before != nullptr && before->descriptor_ >= 0) wait_for_end(before->descriptor_);
    Outcome::State state = Outcome::done;
    try {
      task();
    } catch (const std::exception& error) {
      std::strncpy(outcome_->text, error.what(), sizeof(outcome_->text) - 1);
      state = Outcome::failed;
    } catch (...) {
      std::strncpy(outcome_->text, "not an exception of the library", sizeof(outcome_->text) - 1);
      state = Outcome::failed;
    }
    outcome_->state = state;
    ::_exit(0);  // nothing that the copy of the other process would do at its end
  }
  descriptor_ = open_process(process_);
}

WriterProcess::~WriterProcess() {
  reap(0);
  if (descriptor_ >= 0) ::close(descriptor_);
  ::munmap(outcome_, sizeof(Outcome));
}

void WriterProcess::reap(int options) noexcept {
  while (process_ >= 0) {
    const pid_t result = ::waitpid(process_, &status_, options);
    if (result == 0) return;
    if (result == process_ || errno != EINTR) process_ = -1;  // ECHILD: SIGCHLD is ignored; the outcome tells enough
  }
}

bool WriterProcess::has_ended() noexcept {
  reap(WNOHANG);
  return process_ < 0;
}

void WriterProcess::wait() {
  reap(0);
  if (outcome_->state == Outcome::done) return;
  if (outcome_->state == Outcome::failed) throw IoError(outcome_->text);
  throw WorkerError("snapshot writer: its process was ended" +
                    (WIFSIGNALED(status_) ? " by signal " + std::to_string(WTERMSIG(status_)) : std::string()) +
                    " before the snapshot was written");
}

}  // namespace kusari::training::extensions::snapshot_writers
