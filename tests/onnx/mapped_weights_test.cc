#include <filesystem>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/memory.h"
#include "kusari/framework/inference/loaders.h"
#include "kusari/framework/initializers/random_array.h"
#include "kusari/framework/links/connection/embed_id.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/onnx/export_model.h"
#include "kusari/framework/onnx/load.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari::testing {
namespace {

// 4 MiB of vectors, which are read as they are, and 256 KiB of a product's weights, which are packed.
class Words : public Chain {
 public:
  Words() : embed{*this, "embed", 4096, 256}, l{*this, "l", 256, 256} {}
  Variable operator()(const Variable& ids) const { return l(embed(ids)); }

 private:
  Child<L::EmbedID> embed;
  Child<L::Linear> l;
};
constexpr int64_t kVectors = int64_t{4} << 20;

int64_t in_use() { return memory::statistics().allocated; }

TEST_CASE("sessions of ONNX files leave weights in the files") {
  const ScratchDirectory folder;
  const Words model;
  const Array ids = array<int64_t>({0, 4095, 17, 2048, 1, 99});
  const Array expected = model(Variable(ids, false)).array();
  const auto rows = [&](int64_t count) { return expected.slice(0, 0, count).to_vector<float>(); };
  // Inside of the model's file numbers may lie where they must be copied.
  for (const bool is_external : {true, false}) {
    CAPTURE(is_external);
    const std::string path = folder / (is_external ? "external.onnx" : "inside.onnx");
    onnx::export_model(model, {Variable(ids, false)}, path,
                       {.dynamic_batch = true, .external_threshold = is_external ? 0 : uint64_t{1} << 30});
    const int64_t before = in_use();
    const InferenceSession session = inference::open_session(path, {.shapes = {{{6}}}, .input_dtypes = {Dtype::int64}});
    if (is_external) CHECK(in_use() - before < kVectors / 2);
    const int64_t opened = in_use();
    const onnx::Model loaded = onnx::load(path);
    CHECK(in_use() - opened >= kVectors);

    const auto close = [&](const std::vector<float>& found, const std::vector<float>& wanted) {
      REQUIRE(found.size() == wanted.size());
      for (size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(wanted[i]).epsilon(1e-4));
    };
    close(session.run({ids})[0].to_vector<float>(), rows(6));
    // The file may go; what the first recording gave back is read again by another one.
    std::filesystem::remove(path);
    std::filesystem::remove(path + ".data");
    close(session.run({ids.slice(0, 0, 2)})[0].to_vector<float>(), rows(2));
    close(session.run({ids})[0].to_vector<float>(), rows(6));
  }
}

TEST_CASE("sessions of ONNX files convert weights that stay in the files") {
  const ScratchDirectory folder;
  const Words model;
  const Array ids = array<int64_t>({5, 4000});
  onnx::export_model(model, {Variable(ids, false)}, folder / "net.onnx", {.external_threshold = 0});
  const InferenceSession session = inference::open_session(folder / "net.onnx", {.dtype = Dtype::float16});
  const std::vector<float> expected = model(Variable(ids, false)).to_vector<float>();
  const std::vector<float> found = session.run({ids})[0].to_vector<float>();
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(0.02).scale(1));
}

}  // namespace
}  // namespace kusari::testing
