#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/cuda/libraries/cudnn_route.h"
#include "kusari/tests/cudnn/cards.h"
#include "kusari/tests/cudnn/model_convolutions.h"
#include "kusari/tests/skip.h"

// Which convolutions give the sums for a batch normalization in the same kernel. docs/gpu.md has the table.
namespace kusari::cuda {
namespace {

struct Kind {
  ConvolutionPass pass;
  bool has_load, has_sums;
};
constexpr Kind kSums = {ConvolutionPass::forward, false, true}, kLoadAndSums = {ConvolutionPass::forward, true, true},
               kGradientOfLoad = {ConvolutionPass::filter_grad, true, false};

// Plans for the convolutions of that kind.
int count_plans(const std::vector<ModelConvolution>& convolutions, const Kind& kind, Dtype dtype, const Card& card,
                const CudnnDescriptor& device) {
  int count = 0;
  for (const ModelConvolution& convolution : convolutions) {
    if (convolution.pass != kind.pass) continue;
    ConvolutionKey key = convolution.key(256, dtype);
    key.has_sums = kind.has_sums;
    key.has_load = kind.has_load;
    key.workspace_limit = card.workspace_limit();
    const std::string text = text_of(key);
    CAPTURE(text);
    const ConvolutionRoute route = find_route(key, {nullptr, &device});
    if (!route.plan) {
      CHECK_FALSE(route.reason.empty());
      continue;
    }
    ++count;
    CHECK_FALSE(route.plan->has_note(CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION));
    CHECK(route.plan->workspace() <= key.workspace_limit);
  }
  return count;
}

}  // namespace

TEST_CASE("cudnn sums: float16 convolutions of ResNet-50 give them in their kernel, and normalize what they load") {
  const std::vector<ModelConvolution>& convolutions = resnet50_convolutions();
  bool any = false;
  for (const Card& card : kCards) {
    const std::optional<CudnnDescriptor> device = described(card);
    if (!device) continue;
    any = true;
    const std::string card_name = card.name;
    CAPTURE(card_name);
    const auto count = [&](const Kind& kind) { return count_plans(convolutions, kind, Dtype::float16, card, *device); };
    const int sums = count(kSums), loads = count(kLoadAndSums), gradients = count(kGradientOfLoad);
    if (card.version < 1200) CHECK(sums >= 22);
    if (card.version <= 900) CHECK(loads >= 22);
    if (card.version <= 900) CHECK(gradients >= 22);
    MESSAGE(card_name, ", of 23 in float16: ", sums, " give sums, ", loads, " normalize what they load and give sums, ",
            gradients, " gradients of weights normalize");
  }
  if (!any) KUSARI_SKIP("this cuDNN takes no description of a card");
}

}  // namespace kusari::cuda
