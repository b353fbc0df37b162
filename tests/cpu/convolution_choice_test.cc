#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/device.h"
#include "kusari/framework/core/kernel.h"
#include "kusari/framework/core/tuning.h"
#include "kusari/framework/kernels/convolution.h"
#include "kusari/tests/core/child_process.h"
#include "kusari/tests/functions/testing.h"
#include "kusari/tests/text_search.h"

namespace kusari {
namespace {

using testing::occurrences;

// A problem that im2col and Winograd solve in every build, with other bits.
const char* const kProblem =
    "cpu.convolution/1 forward float32 batch 2 channels 32 to 64 groups 1 bias 0 in 9x7 out 9x7 kernel 3x3 stride 1x1 "
    "pad 1x1 dilate 1x1";

std::vector<float> convolved(bool autotune) {
  const Array x = testing::uniform({2, 32, 9, 7}, -1, 1, 1).astype(Dtype::float32).channels_last();
  const Array W = testing::uniform({64, 32, 3, 3}, -1, 1, 2).astype(Dtype::float32).channels_last();
  const Array y = empty_channels_last({2, 64, 9, 7}, Dtype::float32);
  kernels::Convolution g;
  g.ndim = 2;
  for (int axis = 0; axis < 2; ++axis) g.stride[axis] = g.pad[axis] = g.dilate[axis] = 1;
  g.autotune = autotune;
  launch<kernels::ConvolutionForward>(Device(), g, x, W, Array(), y);
  return y.to_vector<float>();
}

std::vector<float> restored(const std::string& algorithm) {
  tuning::restore(std::string(kProblem) + " = " + algorithm + "\n");
  return convolved(true);
}

/// In processes of their own: $KUSARI_CONVOLUTION is read once, and each starts without choices.
std::string output(const std::string& environment, const std::string& test_case) {
  const testing::ChildResult child = testing::run_in_child(
      "-u KUSARI_CONVOLUTION -u KUSARI_LOG_LEVEL -u KUSARI_MAX_WORKSPACE_SIZE " + environment, test_case);
  INFO(child.output);
  CHECK(child.exit_code == 0);
  return child.output;
}

TEST_CASE("a restored choice of an algorithm is obeyed") {
  CHECK(occurrences(output("", "obey a choice"), "warning") == 0);
}

TEST_CASE("obey a choice" * doctest::skip()) {
  CHECK(tuning::choices().empty());
  convolved(false);
  CHECK(tuning::choices().empty());
  const std::vector<float> timed = convolved(true);
  const std::string chosen = tuning::find(kProblem);
  CHECK_FALSE(chosen.empty());
  CHECK(tuning::choices() == std::string(kProblem) + " = " + chosen + "\n");
  const std::vector<float> winograd = restored("winograd"), im2col = restored("im2col");
  CHECK(winograd != im2col);
  CHECK(restored(chosen) == timed);
  CHECK(restored("winograd") == winograd);
  CHECK(restored("im2col") == im2col);
  CHECK(tuning::find(kProblem) == "im2col");
}

TEST_CASE("a choice that cannot be used here is timed again with one warning") {
  CHECK(occurrences(output("", "do not obey a choice"), "[kusari warning] convolution: the algorithm 'fancy'") == 1);
  CHECK(occurrences(output("KUSARI_MAX_WORKSPACE_SIZE=1", "do not obey a choice that needs much"),
                    "[kusari warning] convolution: the algorithm 'winograd'") == 1);
}

TEST_CASE("do not obey a choice" * doctest::skip()) {
  for (int i = 0; i < 2; ++i) {
    const std::vector<float> timed = restored("fancy");
    const std::string chosen = tuning::find(kProblem);
    CHECK(chosen != "fancy");
    CHECK(restored(chosen) == timed);
  }
}

TEST_CASE("do not obey a choice that needs much" * doctest::skip()) {
  restored("winograd");
  CHECK(tuning::find(kProblem) != "winograd");
}

TEST_CASE("KUSARI_CONVOLUTION is above choices and is none") {
  CHECK(occurrences(output("KUSARI_CONVOLUTION=im2col", "force an algorithm"), "warning") == 0);
}

TEST_CASE("force an algorithm" * doctest::skip()) {
  const std::vector<float> im2col = convolved(true);
  CHECK(tuning::choices().empty());
  CHECK(restored("winograd") == im2col);
  CHECK(tuning::find(kProblem) == "winograd");
}

}  // namespace
}  // namespace kusari
