#pragma once

#include <cstdio>
#include <string>

#include <unistd.h>

namespace kusari::testing {

/// What call() writes to stderr, where the library's log goes.
template <class Call>
std::string stderr_of(const Call& call) {
  std::fflush(stderr);
  std::FILE* const file = std::tmpfile();
  const int saved = ::dup(2);
  ::dup2(::fileno(file), 2);
  const auto end = [&] {
    std::fflush(stderr);
    ::dup2(saved, 2);
    ::close(saved);
  };
  try {
    call();
  } catch (...) {
    end();
    std::fclose(file);
    throw;
  }
  end();
  std::string text;
  std::rewind(file);
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

}  // namespace kusari::testing
