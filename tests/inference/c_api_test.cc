#include "kusari/framework/inference/c_api.h"

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/dlpack.h"
#include "kusari/framework/inference/loaders.h"
#include "kusari/tests/inference/inference_testing.h"

namespace kusari {
namespace {

using testing::called;
using testing::InferenceMlp;
using testing::numbers;
using testing::same_bits;

/// The elements of a vector of 12 floats, as a program without Kusari has them.
struct Given {
  explicit Given(const Array& array) : values{array.to_vector<float>()}, shape{array.shape(0), array.shape(1)} {
    tensor.dl_tensor = {values.data(), {dlpack::kCpu, 0}, 2, {dlpack::kFloat, 32, 1}, shape, nullptr, 0};
    tensor.manager_ctx = this;
    tensor.deleter = nullptr;  // nobody may call it
  }
  const DLManagedTensor* get() const { return reinterpret_cast<const DLManagedTensor*>(&tensor); }
  std::vector<float> values;
  int64_t shape[2];
  dlpack::ManagedTensor tensor;
};

TEST_CASE("the C interface runs sessions over DLPack") {
  const InferenceMlp model;
  inference::register_loader(".mlp", [&](const std::string& path, const InferenceSessionOptions& options) {
    if (path.find("missing") != std::string::npos) throw IoError("cannot open '" + path + "'");
    return InferenceSession(model, options);
  });
  kusari_session* const session = kusari_session_open("net.mlp", nullptr);
  REQUIRE(session != nullptr);
  const Array x = numbers({2, 6}), expected = inference::open_session("net.mlp").run({x})[0];
  const Given given(x);
  const DLManagedTensor* const inputs[] = {given.get()};
  DLManagedTensor* results[2] = {};
  REQUIRE(kusari_session_run(session, inputs, 1, results, 2) == 1);
  CHECK(same_bits(from_dlpack(reinterpret_cast<dlpack::ManagedTensor*>(results[0])), expected));
  CHECK(std::string(kusari_session_describe(session)).find("InferenceSession 'InferenceMlp'") == 0);

  CHECK(kusari_session_run(session, inputs, 1, results, 0) == -1);
  CHECK(std::string(kusari_last_error()) == "kusari_session_run: there are 1 results, but room for 0");
  CHECK(kusari_session_run(session, inputs, 0, results, 2) == -1);
  CHECK(std::string(kusari_last_error()) ==
        "kusari_session_run: InferenceSession 'InferenceMlp': run got 0 inputs, but the model takes 1");
  std::thread([] { CHECK(std::string(kusari_last_error()).empty()); }).join();
  kusari_session_close(session);
  kusari_session_close(nullptr);

  CHECK(kusari_session_open("net.mlp", "int8") == nullptr);
  CHECK(std::string(kusari_last_error()) ==
        "kusari_session_open: dtype is 'int8', but must be float32, float16 or bfloat16");
  CHECK(kusari_session_open("missing.mlp", "bfloat16") == nullptr);
  CHECK(std::string(kusari_last_error()) == "kusari_session_open: cannot open 'missing.mlp'");
  CHECK(kusari_session_open("net.other", nullptr) == nullptr);
  CHECK(std::string(kusari_last_error()).find("no loader for 'net.other' is there") != std::string::npos);
  CHECK(kusari_session_run(nullptr, inputs, 1, results, 2) == -1);
  CHECK(std::string(kusari_last_error()) == "kusari_session_run: session is null");
}

}  // namespace
}  // namespace kusari
