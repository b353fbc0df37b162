#pragma once

#include <array>
#include <cstdio>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#ifndef KUSARI_TEST_EMULATOR
#define KUSARI_TEST_EMULATOR ""
#endif

namespace kusari::testing {

struct ChildResult {
  int exit_code;
  std::string output;  // stdout and stderr
};

/// Runs one test case of this program, marked doctest::skip(), in a process of its own with variables such as
/// "KUSARI_DEBUG=1" in its environment: for what is read once at the start.
inline ChildResult run_in_child(const std::string& environment, const std::string& test_case) {
  std::array<char, 4096> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  const std::string program(path.data(), static_cast<size_t>(length > 0 ? length : 0));
  const std::string command = "env -u KUSARI_DEBUG -u CHAINER_DEBUG " + environment + " " KUSARI_TEST_EMULATOR "'" +
                              program + "' --no-skip --no-version --test-case='" + test_case + "' 2>&1";
  ChildResult result{-1, {}};
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return result;
  std::array<char, 4096> buffer{};
  while (const size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) result.output.append(buffer.data(), n);
  const int status = ::pclose(pipe);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

}  // namespace kusari::testing
