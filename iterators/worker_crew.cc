#include "kusari/iterators/worker_crew.h"

#include <cerrno>
#include <chrono>
#include <cstring>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kusari/framework/core/error.h"

namespace kusari::iterators {
namespace {

using Clock = std::chrono::steady_clock;

// What a mother who is told to end may take for it, and what processes may that are killed: milliseconds, unless the
// machine is too busy. In seconds.
constexpr double kTimeForMother = 0.5;
constexpr double kTimeToDie = 5;

// The status of a process that the program waited for elsewhere: by wait() for any child, or by ignoring SIGCHLD.
constexpr int kUnknown = -1;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

void nap() {
  const timespec short_while{0, 200'000};
  nanosleep(&short_while, nullptr);
}

}  // namespace

std::string describe_end(int status) {
  if (status == kUnknown) return "ended";
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    return "was killed by signal " + std::to_string(number) + " (" + strsignal(number) + ")";
  }
  return "ended by itself with exit status " + std::to_string(WEXITSTATUS(status));
}

WorkerCrew::WorkerCrew(const WorkBoard::Size& size, const WorkerSetting& setting)
    : board_{size}, blocks_{create_memory_file()}, consumer_{getpid()} {
  // The program's signal handlers are not for the mother, who resets them first.
  sigset_t all, previous;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &previous);
  mother_ = fork();
  if (mother_ == 0) run_mother(consumer_, board_, channel_, blocks_, setting);
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  if (mother_ < 0) {
    throw WorkerError(std::string("MultiprocessIterator: cannot start a process: ") + std::strerror(error));
  }
  channel_.workers = FileDescriptor();  // or the end of the workers would not be seen
}

WorkerCrew::~WorkerCrew() {
  if (!is_ours()) return;
  // Reaches the mother even if other processes that were forked from this one hold the socket open.
  shutdown(channel_.consumer.get(), SHUT_WR);
  if (!has_mother_ended(kTimeForMother)) {
    // The system kills the workers with her, but not one that was stopped before it asked for that. While she does not
    // run she waits for none of them, so that the numbers are theirs.
    kill(mother_, SIGSTOP);
    for (int i = 0; i < board_.workers(); ++i) {
      if (const int worker = board_.worker(i).process.load(); worker > 0) kill(worker, SIGKILL);
    }
    kill(mother_, SIGKILL);
    has_mother_ended(kTimeToDie);
  }
  await_workers(kTimeToDie);
  board_.discard();
}

bool WorkerCrew::is_ours() const noexcept { return getpid() == consumer_; }

std::string WorkerCrew::mother_name() const {
  return "the process that starts the workers (process " + std::to_string(mother_) + ")";
}

std::string WorkerCrew::end_of_mother() {
  return has_mother_ended(0) ? mother_name() + " " + describe_end(status_) : std::string();
}

bool WorkerCrew::has_mother_ended(double seconds) noexcept {
  const auto begin = Clock::now();
  while (!is_reaped_) {
    const pid_t ended = waitpid(mother_, &status_, WNOHANG);
    if (ended == mother_) {
      is_reaped_ = true;
    } else if (ended < 0 && errno == ECHILD) {
      is_reaped_ = true;
      status_ = kUnknown;
    } else if (seconds_since(begin) >= seconds) {
      return false;
    } else {
      nap();
    }
  }
  return true;
}

// A mother who ended in good order has waited for them; otherwise the system kills them with her.
void WorkerCrew::await_workers(double seconds) noexcept {
  if (is_reaped_ && status_ == 0) return;
  const auto begin = Clock::now();
  while (seconds_since(begin) < seconds) {
    char byte;
    const ssize_t bytes = recv(channel_.consumer.get(), &byte, sizeof byte, MSG_DONTWAIT);
    if (bytes == 0 || (bytes < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) break;
    if (bytes < 0) nap();
  }
  // If orphans become this process's children, they are its to wait for.
  for (int i = 0; i < board_.workers(); ++i) {
    const pid_t worker = board_.worker(i).process.load();
    while (worker > 0 && waitpid(worker, nullptr, WNOHANG) == 0 && seconds_since(begin) < seconds) nap();
  }
}

}  // namespace kusari::iterators
