#include "kusari/framework/distributed/process_guard.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include <unistd.h>

#include "kusari/framework/core/collectives.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"

namespace kusari::distributed {
namespace {

pid_t guarded_process = 0;
std::terminate_handler next_handler = nullptr;

void write_text(const char* text) noexcept {
  // Nothing can be done about an error, and nothing must be: the process ends.
  if (write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
}

// Async-signal-safe.
void on_terminate_signal(int signal) {
  const collectives::Status& status = collectives::status();
  if (getpid() == guarded_process && status.waits_for[0] != 0) {
    write_text(status.self);
    write_text(" was ended while it waited in ");
    write_text(status.waits_for);
    write_text("\n");
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

[[noreturn]] void on_terminate() {
  if (getpid() == guarded_process) {
    std::exception_ptr reason = std::current_exception();
    if (!reason) reason = std::make_exception_ptr(StateError("std::terminate was called"));
    std::fprintf(stderr, "%s: %s\n", collectives::status().self, collectives::failure_text(reason).c_str());
    collectives::announce_failure(reason);
    collectives::finish_run();
  }
  if (next_handler != nullptr) next_handler();
  std::abort();
}

void at_exit() {
  if (getpid() == guarded_process) collectives::finish_run();  // not in a child that was forked
}

}  // namespace

void guard_process() {
  if (guarded_process == getpid()) return;
  guarded_process = getpid();
  next_handler = std::set_terminate(on_terminate);
  struct sigaction present = {};
  if (sigaction(SIGTERM, nullptr, &present) == 0 && present.sa_handler == SIG_DFL) {
    std::signal(SIGTERM, on_terminate_signal);
  }
  std::atexit(at_exit);
}

void share_random_state(collectives::Group& group) {
  if (group.size() == 1) return;
  RandomState state = random::state();
  const std::string shared = group.bcast({"random state"}, {reinterpret_cast<const char*>(&state), sizeof(state)}, 0);
  std::memcpy(&state, shared.data(), sizeof(state));
  random::set_state({state.seed, state.offset});
}

}  // namespace kusari::distributed
