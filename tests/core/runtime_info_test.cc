#include "kusari/framework/core/runtime_info.h"

#include <sstream>
#include <string>

#include <doctest/doctest.h>

#include "kusari/framework/core/device.h"
#include "kusari/framework/core/threads.h"

using namespace kusari;

TEST_CASE("runtime_info says what a bug report needs") {
  const std::string text = runtime_info();
  CAPTURE(text);
  CHECK(text.rfind("Platform: Linux-", 0) == 0);
  size_t at = 0;
  for (const char* line : {"\nKusari: ", "\nEigen: 3.", "\noneDNN: ", "\nCPU: ", "\n  Instruction set: v",
                           "\nThreads: ", "\nCUDA:", "\ncuDNN:"}) {
    CAPTURE(line);
    const size_t found = text.find(line, at);
    REQUIRE(found != text.npos);
    at = found;
  }
  CHECK(text.find("\nThreads: " + std::to_string(num_threads()) + "\n") != text.npos);
  CHECK(text.back() == '\n');
  if (cuda::is_available()) CHECK(text.find("\n  Device 0: ") != text.npos);

  std::ostringstream out;
  print_runtime_info(out);
  CHECK(out.str() == text);
}
