#pragma once

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <new>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kusari/tests/iterators/seconds_since.h"

namespace kusari::testing {

/// A value that processes forked later share.
template <class T, class... Args>
std::shared_ptr<T> shared_value(Args&&... args) {
  void* const memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  return {::new (memory) T(std::forward<Args>(args)...), [](T* value) { munmap(value, sizeof(T)); }};
}

/// State ('R', 'S', 'Z', ...), parent and name of a process; a blank when it is gone.
struct ProcessState {
  char state = ' ';
  pid_t parent = 0;
  std::string name = {};
};
inline ProcessState process_state(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  const size_t name_begin = text.find('(') + 1, name_end = text.rfind(')');
  ProcessState found;
  if (name_end == std::string::npos) return found;
  std::istringstream(text.substr(name_end + 1)) >> found.state >> found.parent;
  found.name = text.substr(name_begin, name_end - name_begin);
  return found;
}

/// Zombies too.
inline std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t process = std::atoi(entry.path().filename().c_str());
    if (process > 0 && process_state(process).parent == parent) children.push_back(process);
  }
  return children;
}

inline bool comes_true(const std::function<bool()>& condition, double seconds) {
  const auto begin = std::chrono::steady_clock::now();
  while (!condition()) {
    if (seconds_since(begin) > seconds) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

/// What a process holds of the system that an iterator must give back.
struct Belongings {
  std::vector<pid_t> children;
  int64_t descriptors;
  int64_t shared_mappings;
  std::set<std::string> shared_memory_files;
  friend bool operator==(const Belongings&, const Belongings&) = default;

  static Belongings now() {
    Belongings found{children_of(getpid()), 0, 0, {}};
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++found.descriptors;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      found.shared_mappings +=
          line.find("/memfd:kusari") != std::string::npos || line.find("/dev/zero (deleted)") != std::string::npos;
    }
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
      const std::string name = entry.path().filename().string();
      if (name.find("kusari") != std::string::npos)
        found.shared_memory_files.insert(name);  // others are other programs'
    }
    return found;
  }
  std::string text() const {
    std::string states;
    for (const pid_t child : children) states += " " + std::to_string(child) + process_state(child).state;
    return "children" + states + ", " + std::to_string(descriptors) + " descriptors, " +
           std::to_string(shared_mappings) + " shared mappings, " + std::to_string(shared_memory_files.size()) +
           " files of shared memory";
  }
};

/// The mother process and the workers of the only iterator that is alive.
struct Crew {
  pid_t mother = 0;
  std::vector<pid_t> workers = {};

  /// Those that have their names, so that the iterator knows them: one that is stopped before would be left behind.
  static Crew now(pid_t consumer) {
    Crew crew;
    for (const pid_t child : children_of(consumer)) {
      if (process_state(child).name == "kusari-mother") crew.mother = child;
    }
    if (crew.mother == 0) return crew;
    for (const pid_t child : children_of(crew.mother)) {
      if (process_state(child).name == "kusari-worker") crew.workers.push_back(child);
    }
    return crew;
  }
  /// Waits for all workers to be there.
  static Crew of(pid_t consumer, size_t workers) {
    Crew crew;
    const bool is_whole = comes_true([&] { return (crew = now(consumer)).workers.size() == workers; }, 20);
    if (!is_whole) throw std::runtime_error("the iterator has " + std::to_string(crew.workers.size()) + " workers");
    return crew;
  }
};

/// Runs `body` in a process of its own, which tells `text` to the caller; it ends with _exit(0) if it is not ended
/// before.
class Child {
 public:
  explicit Child(const std::function<void(const std::function<void(const std::string&)>& tell)>& body) {
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    process_ = fork();
    if (process_ == 0) {
      setpgid(0, 0);
      for (const int number : {SIGINT, SIGTERM}) signal(number, SIG_DFL);  // doctest has handlers
      close(ends[0]);
      try {
        body([&](const std::string& text) {
          if (write(ends[1], text.data(), text.size()) != static_cast<ssize_t>(text.size())) _exit(1);
        });
      } catch (...) {  // the other tests are the parent's
        _exit(1);
      }
      _exit(0);
    }
    setpgid(process_, process_);
    close(ends[1]);
    from_ = ends[0];
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    close(from_);
    if (is_running_) {
      kill(process_, SIGKILL);
      wait();
    }
  }

  pid_t process() const { return process_; }
  /// What it tells next; empty once it, and whoever has its end of the pipe, is gone.
  std::string hear() const {
    char text[4096];
    const ssize_t bytes = read(from_, text, sizeof text);
    return std::string(text, bytes > 0 ? static_cast<size_t>(bytes) : 0);
  }
  /// Its status as waitpid gives it.
  int wait() {
    int status = 0;
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    is_running_ = false;
    return status;
  }

 private:
  pid_t process_;
  int from_;
  bool is_running_ = true;
};

}  // namespace kusari::testing
