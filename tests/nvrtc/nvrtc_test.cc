#include "kusari/cuda/runtime/nvrtc.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/kernels/user/source.h"
#include "kusari/tests/scratch_directory.h"

// The real compiler, which needs no card.
namespace kusari::cuda {
namespace {

using user::Bound;

constexpr const char* kSm90 = "sm_90";

const std::string kText = R"(#include "kusari/framework/kernels/user/prelude.h"
using namespace kusari::user;
namespace km = kusari::km;
extern "C" __global__ void all_functions(float16* h, bfloat16* b, float* f, double* d, long long* k) {
  const auto i = threadIdx.x;
  f[i] = km::exp(f[i]) + km::log1p(f[i]) + km::tanh(f[i]) + km::erf(f[i]) + km::pow(f[i], 2.5f) + km::sin(f[i]);
  d[i] = km::exp(d[i]) + km::log1p(d[i]) + km::tanh(d[i]) + km::erf(d[i]) + km::pow(d[i], 2.5) + km::highest<double>();
  h[i] = km::max(float(h[i]), km::abs(f[i]));
  b[i] = km::sqrt(float(b[i])) + static_cast<float>(kusari::philox_word(1, i));
  k[i] = km::min<long long>(k[i], 3);
}
)";

TEST_CASE("Kusari's functions compile for the device without any other header") {
  const std::string code = compile_text("all_functions", kText, {}, kSm90);
  CHECK(
      code.starts_with("\x7f"
                       "ELF"));
}

TEST_CASE("generated texts compile for every dtype, layout and kind of parameter") {
  for (const char* dtype : {"bool", "uint8", "int8", "int32", "int64", "float16", "bfloat16", "float32", "float64"}) {
    for (const bool is_flat : {true, false}) {
      CAPTURE(dtype);
      CAPTURE(is_flat);
      const std::vector<Bound> bound = {{{"T", "x"}},
                                        {{"float32", "a"}, false, true},
                                        {{"T", "table", true}, false, false, 3},
                                        {{"T", "y"}, true},
                                        {{"int64", "place"}, true}};
      const std::string text =
          user::elementwise_source("gather", "y = i < table.size() ? table[i] : T(x + a); place = i + n",
                                   std::string("using T = ") + dtype + ";\n", "", bound, is_flat ? 1 : 4, is_flat);
      CAPTURE(text);
      CHECK_NOTHROW(compile_text("gather", text, {}, kSm90));
    }
    const std::vector<Bound> bound = {
        {{"T", "x"}}, {{"T", "w"}}, {{"float32", "scale"}, false, true}, {{"T", "y"}, true}};
    const std::string text = user::reduction_source("dot", {"x * w", "a + b", "y = T(a * scale)", "0", "float64"},
                                                    std::string("using T = ") + dtype + ";\n", "", bound, 2, 3);
    CAPTURE(text);
    CHECK_NOTHROW(compile_text("dot", text, {"--use_fast_math"}, kSm90));
  }
}

TEST_CASE("an error is the compiler's, with the kernel's name") {
  try {
    compile_text("broken", "extern \"C\" __global__ void broken() { oops; }", {}, kSm90);
    FAIL("compiled");
  } catch (const Error& error) {
    const std::string text = error.what();
    CHECK(text.starts_with("broken: the kernel does not compile:\n"));
    CHECK(text.find("oops") != std::string::npos);
  }
  try {
    compile_text("t", kText, {}, "sm_1");
    FAIL("compiled");
  } catch (const Error& error) {
    const std::string text = error.what();
    CAPTURE(text);
    CHECK(text.starts_with("t: nvrtcCompileProgram failed: NVRTC_ERROR_INVALID_OPTION\n"));
    CHECK(text.find("gpu-architecture") != std::string::npos);
  }
}

TEST_CASE("a card that the compiler does not know gets PTX of the newest one that it does") {
  CHECK(architecture_for(9, 0) == "sm_90");
  CHECK(architecture_for(10, 0) == "sm_100");
  CHECK(architecture_for(9, 9).starts_with("compute_9"));
  CHECK(architecture_for(2, 0) == "sm_20");  // which the compiler refuses, with its own words
  const std::string newest = architecture_for(99, 0);
  CHECK(newest.starts_with("compute_"));
  const std::string code = compile_text("all_functions", kText, {}, newest);
  CHECK(code.find(".target sm_" + newest.substr(8)) != std::string::npos);
  CHECK(code.find('\0') == std::string::npos);
  CHECK(code.find(".entry all_functions") != std::string::npos);
}

TEST_CASE("what was compiled is kept, and a spoilt file is made again") {
  const testing::ScratchDirectory folder;
  const std::string where = folder / "kernels";
  ::setenv("KUSARI_CACHE_DIR", where.c_str(), 1);
  const std::string code = compile_cached("all_functions", kText, {}, kSm90);
  std::vector<std::filesystem::path> files(std::filesystem::directory_iterator(where), {});
  REQUIRE(files.size() == 1);
  const auto written = std::filesystem::last_write_time(files[0]);
  CHECK(compile_cached("all_functions", kText, {}, kSm90) == code);
  CHECK(std::filesystem::last_write_time(files[0]) == written);

  std::filesystem::resize_file(files[0], std::filesystem::file_size(files[0]) - 9);  // a full disk
  CHECK(compile_cached("all_functions", kText, {}, kSm90) == code);
  CHECK(std::filesystem::file_size(files[0]) > code.size());

  compile_cached("all_functions", kText + "// another\n", {}, kSm90);
  compile_cached("all_functions", kText, {"--use_fast_math"}, kSm90);
  compile_cached("all_functions", kText, {}, "sm_100");
  CHECK(std::distance(std::filesystem::directory_iterator(where), {}) == 4);

  ::setenv("KUSARI_CACHE_DIR", "/proc/nobody/can/write/here", 1);
  CHECK(compile_cached("all_functions", kText, {}, kSm90) == code);
  ::setenv("KUSARI_CACHE_DIR", "", 1);
  CHECK(compile_cached("all_functions", kText, {}, kSm90) == code);
  ::unsetenv("KUSARI_CACHE_DIR");
}

}  // namespace
}  // namespace kusari::cuda
