#include "kusari/framework/training/extensions/terminal.h"

#include <cstdlib>
#include <cstring>

#include <unistd.h>

namespace kusari::training::extensions {

bool is_terminal(std::FILE* stream) {
  const int file = ::fileno(stream);  // -1: a stream in memory
  if (file < 0 || ::isatty(file) == 0) return false;
  const char* kind = std::getenv("TERM");
  return kind == nullptr || std::strcmp(kind, "dumb") != 0;
}

}  // namespace kusari::training::extensions
