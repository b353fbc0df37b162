#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/cuda/libraries/cudnn_route.h"
#include "kusari/tests/cudnn/cards.h"
#include "kusari/tests/cudnn/model_convolutions.h"
#include "kusari/tests/skip.h"

// What cards of each generation get without any setting. docs/gpu.md has the table.
namespace kusari::cuda {
namespace {

constexpr int64_t kBatch = 256;

struct Count {
  int tensor_cores = 0, all = 0;
  int64_t most_workspace = 0;
};

bool uses_tensor_cores(const ConvolutionPlan& plan) { return plan.has_note(CUDNN_NUMERICAL_NOTE_TENSOR_CORE); }

// Whether any plan within the limit is on tensor cores.
bool has_tensor_cores(const ConvolutionKey& key, const PlanTarget& target) {
  ConvolutionKey precompiled = key;
  precompiled.allows_runtime_compilation = 0;
  PlanSearch search(precompiled, target);
  while (const std::optional<ConvolutionPlan> plan = search.next()) {
    if (uses_tensor_cores(*plan)) return true;
  }
  return false;
}

Count count_plans(const std::vector<ModelConvolution>& convolutions, Dtype dtype, int64_t workspace_limit,
                  const CudnnDescriptor& card) {
  Count count;
  const PlanTarget target{nullptr, &card};
  for (const ModelConvolution& convolution : convolutions) {
    ConvolutionKey key = convolution.key(kBatch, dtype);
    key.workspace_limit = workspace_limit;
    const std::string text = text_of(key);
    CAPTURE(text);
    const ConvolutionRoute route = find_route(key, target);
    REQUIRE_MESSAGE(route.plan.has_value(), route.reason);
    ++count.all;
    count.tensor_cores += uses_tensor_cores(*route.plan);
    count.most_workspace = std::max(count.most_workspace, route.plan->workspace());
    // What is not on tensor cores could not be.
    if (!uses_tensor_cores(*route.plan)) CHECK_FALSE(has_tensor_cores(key, target));
  }
  return count;
}

}  // namespace

TEST_CASE("cudnn cards: the default workspace is a gibibyte on each of these") {
  for (const Card& card : kCards) CHECK(card.workspace_limit() == int64_t{1} << 30);
}

TEST_CASE("cudnn cards: ResNet-50 trains on tensor cores without any setting") {
  const std::vector<ModelConvolution>& convolutions = resnet50_convolutions();
  REQUIRE(convolutions.size() == 68);
  bool any = false;
  for (const Card& card : kCards) {
    const std::optional<CudnnDescriptor> device = described(card);
    if (!device) continue;
    any = true;
    const std::string card_name = card.name;
    CAPTURE(card_name);
    for (const Dtype dtype : {Dtype::float32, Dtype::float16, Dtype::bfloat16}) {
      const std::string dtype_name = name(dtype);
      CAPTURE(dtype_name);
      const Count with_default = count_plans(convolutions, dtype, card.workspace_limit(), *device);
      CHECK(with_default.tensor_cores >= 66);
      CHECK(with_default.most_workspace <= card.workspace_limit());
      const Count with_little = count_plans(convolutions, dtype, int64_t{8} << 20, *device);
      CHECK(with_little.tensor_cores <= with_default.tensor_cores);
      MESSAGE(card_name, ", ", dtype_name, ": ", with_default.tensor_cores, " of ", with_default.all, " (",
              with_little.tensor_cores, " within 8 MiB), at most ", with_default.most_workspace >> 20, " MiB");
    }
  }
  if (!any) KUSARI_SKIP("this cuDNN takes no description of a card");
}

TEST_CASE("cudnn cards: a smaller card of each generation still has a plan for each convolution") {
  const std::vector<ModelConvolution>& convolutions = resnet50_convolutions();
  for (Card card : kCards) {
    card.memory = int64_t{8} << 30;
    card.multiprocessors = 24;
    const std::optional<CudnnDescriptor> device = described(card);
    if (!device) KUSARI_SKIP("this cuDNN takes no description of a card");
    const std::string card_name = card.name;
    CAPTURE(card_name);
    CHECK(card.workspace_limit() == int64_t{512} << 20);
    for (const Dtype dtype : {Dtype::float32, Dtype::float16}) {
      const Count count = count_plans(convolutions, dtype, card.workspace_limit(), *device);
      CHECK(count.tensor_cores >= (dtype == Dtype::float32 ? 40 : 66));
      MESSAGE(card_name, " with 8 GiB, ", std::string(name(dtype)), ": ", count.tensor_cores, " of ", count.all);
    }
  }
}

}  // namespace kusari::cuda
