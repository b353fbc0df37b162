#include <algorithm>
#include <cerrno>
#include <vector>

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kusari/iterators/worker_process.h"

namespace kusari::iterators {
namespace {

// Handlers and blocked signals of the consumer's program are not for its workers. Ctrl-C goes to all processes of a
// terminal: it is the consumer's to answer.
void reset_signals() {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = SIG_DFL;
    sigaction(number, &action, nullptr);
  }
  signal(SIGINT, SIG_IGN);
  signal(SIGCHLD, [](int) {});  // interrupts ppoll
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGCHLD);
  sigprocmask(SIG_SETMASK, &blocked, nullptr);
}

class Mother {
 public:
  Mother(pid_t consumer, WorkBoard& board, Channel& channel, const FileDescriptor& blocks, const WorkerSetting& setting)
      : consumer_{consumer},
        board_{board},
        end_{channel.workers},
        blocks_{blocks},
        setting_{setting},
        workers_(static_cast<size_t>(board.workers())) {
    channel.consumer = FileDescriptor();  // or its end would not be seen
  }

  void run() {
    for (int i = 0; i < board_.workers(); ++i) start(i);
    sigset_t none;
    sigemptyset(&none);
    for (;;) {
      pollfd waiting{end_.get(), POLLIN, 0};
      const timespec look{0, 100'000'000};
      ppoll(&waiting, 1, &look, &none);
      // Another process that was forked from the consumer's may hold its end open after its death.
      if (!reap() || !obey() || getppid() != consumer_) break;
    }
    for (const pid_t worker : workers_) {
      if (worker > 0) kill(worker, SIGKILL);
    }
    for (const pid_t worker : workers_) {
      while (worker > 0 && waitpid(worker, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
  }

 private:
  // False: the consumer hung up.
  bool obey() {
    Command command;
    for (;;) {
      switch (receive_command(end_, command)) {
        case Received::nothing:
          return true;
        case Received::end:
          return false;
        case Received::message:
          break;
      }
      const pid_t worker = workers_[static_cast<size_t>(command.worker)];
      if (command.kind == Command::Kind::start && worker == 0 && !start(command.worker)) return false;
      if (command.kind == Command::Kind::kill && worker > 0) kill(worker, SIGKILL);
    }
  }

  bool reap() {
    int status;
    for (pid_t process; (process = waitpid(-1, &status, WNOHANG)) > 0;) {
      const auto found = std::find(workers_.begin(), workers_.end(), process);
      if (found == workers_.end()) continue;
      *found = 0;
      const int worker = static_cast<int>(found - workers_.begin());
      board_.worker(worker).process.store(0);
      if (board_.worker(worker).is_retired.exchange(0) != 0) {
        if (!start(worker)) return false;
      } else if (!send({.kind = Report::Kind::exited, .worker = worker, .process = process, .status = status})) {
        return false;
      }
    }
    return true;
  }

  // False: the consumer hung up.
  bool start(int worker) {
    const pid_t mother = getpid();
    const pid_t process = fork();
    if (process < 0) return send({.kind = Report::Kind::not_started, .worker = worker, .status = errno});
    if (process == 0) {
      // Before anything that may end this process: the consumer may have to wait for it, if its mother is killed now.
      board_.worker(worker).process.store(getpid());
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != mother) _exit(1);
      signal(SIGCHLD, SIG_DFL);
      sigset_t none;
      sigemptyset(&none);
      sigprocmask(SIG_SETMASK, &none, nullptr);
      run_worker(worker, board_, end_, blocks_, setting_);
    }
    workers_[static_cast<size_t>(worker)] = process;
    board_.worker(worker).process.store(process);
    return true;
  }

  bool send(const Report& report) {
    if (!send_report(end_, report, consumer_)) return false;
    board_.signal();
    return true;
  }

  pid_t consumer_;
  WorkBoard& board_;
  const FileDescriptor& end_;
  const FileDescriptor& blocks_;
  const WorkerSetting& setting_;
  std::vector<pid_t> workers_;  // 0: not running
};

}  // namespace

void run_mother(int consumer, WorkBoard& board, Channel& channel, const FileDescriptor& blocks,
                const WorkerSetting& setting) noexcept {
  reset_signals();
  prctl(PR_SET_NAME, "kusari-mother");
  Mother(consumer, board, channel, blocks, setting).run();
  _exit(0);
}

}  // namespace kusari::iterators
