#pragma once

#include <cstdio>
#include <string>

#include <unistd.h>

namespace kusari::testing {

/// While it lives, what goes to stderr is kept instead: warnings that are to be read.
class CapturedStderr {
 public:
  CapturedStderr() : file_{std::tmpfile()}, own_{::dup(STDERR_FILENO)} {
    std::fflush(stderr);
    ::dup2(::fileno(file_), STDERR_FILENO);
  }
  CapturedStderr(const CapturedStderr&) = delete;
  CapturedStderr& operator=(const CapturedStderr&) = delete;
  ~CapturedStderr() {
    std::fflush(stderr);
    ::dup2(own_, STDERR_FILENO);
    ::close(own_);
    std::fclose(file_);
  }

  std::string text() const {
    std::fflush(stderr);
    std::string result;
    char buffer[4096];
    off_t at = 0;
    for (ssize_t n; (n = ::pread(::fileno(file_), buffer, sizeof buffer, at)) > 0; at += n) {
      result.append(buffer, static_cast<size_t>(n));
    }
    return result;
  }

 private:
  std::FILE* file_;
  int own_;
};

}  // namespace kusari::testing
