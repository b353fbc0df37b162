#include "kusari/framework/training/extensions/update_batch_statistics.h"

#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/framework/links/normalization/decorrelated_batch_normalization.h"

namespace kusari::training::extensions {
namespace {

/// What the two classes of normalizations have.
struct Statistics {
  double* decay = nullptr;
  Array first = {}, second = {};
};

Statistics statistics_of(Link& link) {
  if (auto* const batch = dynamic_cast<links::BatchStatistics*>(&link)) {
    const auto* const plain = dynamic_cast<const links::BatchNormalization*>(batch);
    if (plain != nullptr && plain->is_frozen()) return {};
    return {&batch->decay, batch->avg_mean, batch->avg_var};
  }
  if (auto* const whitening = dynamic_cast<links::DecorrelatedBatchNormalization*>(&link)) {
    return {&whitening->decay, whitening->avg_mean, whitening->avg_projection};
  }
  return {};
}

/// Sets the decay of each call so that the averages are means over all calls.
class PlainMeans final : public LinkHook {
 public:
  const char* name() const override { return "update_batch_statistics"; }

  void forward_preprocess(Link& link) override {
    const Statistics statistics = statistics_of(link);
    if (statistics.decay == nullptr) return;
    const int64_t count = ++counts_[&link];
    if (count == 1) {  // what was there may be NaN, which no weight takes out
      for (const Array& array : {statistics.first, statistics.second}) Array(array).fill(0);
    }
    before_ = std::exchange(*statistics.decay, 1 - 1 / static_cast<double>(count));
  }
  void forward_postprocess(Link& link) override {
    const Statistics statistics = statistics_of(link);
    if (statistics.decay != nullptr) *statistics.decay = before_;
  }
  bool has_seen() const noexcept { return !counts_.empty(); }

 private:
  std::map<const Link*, int64_t> counts_;
  double before_ = 0;  // normalizations call no others
};

bool has_statistics(Link& model) {
  for (Link* const link : model.links()) {
    if (statistics_of(*link).decay != nullptr) return true;
  }
  return false;
}

}  // namespace

void update_batch_statistics_of(iterators::IteratorRef iterator, Link& model, detail::CallModel call,
                                const UpdateBatchStatisticsOptions& options) {
  if (call == nullptr && !options.func) {
    throw TypeError("update_batch_statistics: the model cannot be called with variables: give a func");
  }
  if (iterator->repeat()) {
    throw ValueError(
        "update_batch_statistics: the iterator repeats, so a sweep would not end: create it with {.repeat = false}");
  }
  const auto train_mode = using_config(&Config::train, true);
  const auto no_graph = no_backprop_mode();
  PlainMeans means;
  const ScopedLinkHook scope(means);
  iterator->reset();
  const datasets::Keys keys = iterator->keys();
  const Device device = options.device.value_or(Device());
  bool has_batches = false;
  for (const iterators::Batch& batch : *iterator) {
    const datasets::Example arrays =
        options.converter ? options.converter(batch, device) : datasets::concat_examples(batch, device);
    Variables inputs;
    for (const Array& array : arrays) inputs.push_back(Variable(array, false));
    const std::span<const Variable> arguments(inputs.data(), inputs.size());
    if (options.func) {
      options.func(arguments, keys);
    } else {
      call(model, {arguments, keys});
    }
    has_batches = true;
  }
  if (!has_batches || means.has_seen() || !has_statistics(model)) return;
  throw StateError(
      "update_batch_statistics: the model has batch normalizations, of which no call was seen: call it "
      "without a static graph");
}

}  // namespace kusari::training::extensions
