#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/collectives.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/kernels/all_reduce.h"
#include "kusari/framework/kernels/device_group.h"
#include "kusari/framework/kernels/exchange.h"
#include "kusari/optimizers/exchange_step.h"
#include "kusari/optimizers/gradient_exchange.h"
#include "kusari/optimizers/optimizer_impl.h"

// The exchange of gradients among the kernels of a recorded step. What replays do is what define-by-run does, in the
// same order: the ranks' words, the buckets, the update.
namespace kusari {

using collectives::Group;

/// The buckets of one recording. It may live longer than the exchange, which is not asked any more then.
class GradientExchange::Recorded final : public RecordedExchange {
 public:
  Recorded(GradientExchange& exchange, DeviceGroup* on_device)
      : owner_{exchange.weak_from_this()},
        exchange_{exchange},
        group_{exchange.group()},
        device_groups_{exchange.options().device_groups},
        on_device_{on_device} {}

  void add(const GradientBucket& bucket, int64_t number) {
    buckets_.push_back({bucket.detail(), bucket.operations(), number, Array(), nullptr});
  }
  void set_weights(const std::vector<double>& weights) { weights_ = weights; }
  bool holds() const { return !owner_.expired(); }
  /// Of a replay: takes what begin_static_step has left.
  void begin() {
    const std::unique_ptr<Step> step = std::move(exchange_.step_);
    weights_ = exchange_.weights_of(*step->words);
    if (on_device_ != nullptr) {
      on_device_->check();
      exchange_.set_weight(on_device_->device(), weights_[static_cast<size_t>(group_.rank())]);
    }
    for (Bucket& bucket : buckets_) {
      bucket.reduction = nullptr;  // of a replay that failed
      bucket.number = group_.reserve({"all-reduce"}, bucket.operations);
    }
  }
  void end() { exchange_.end_step(); }
  bool is_among_devices(const Array& data) const {
    return on_device_ != nullptr && data.device() == on_device_->device();
  }

  void start(int64_t index, const Array& data) override {
    Bucket& bucket = buckets_[static_cast<size_t>(index)];
    if (is_among_devices(data)) return on_device_->start_all_reduce(data);
    // A handle that may stay when the replay's own are gone.
    bucket.host = data.as_strided(data.shape(), data.strides()).to_device(Device());
    bucket.reduction = std::make_unique<AllReduce>(
        group_, bucket.host,
        AllReduceOptions{.weights = weights_, .detail = bucket.detail, .first_number = bucket.number});
    look();
  }
  void look() override {
    for (const Bucket& bucket : buckets_) {
      if (bucket.reduction != nullptr) bucket.reduction->test();
    }
  }
  void finish(int64_t index, const Array& data) override {
    Bucket& bucket = buckets_[static_cast<size_t>(index)];
    if (is_among_devices(data)) return on_device_->join();
    exchange_.count_wait(bucket.reduction->wait());
    bucket.reduction = nullptr;
    if (!data.device().is_cpu()) data.copy_from(bucket.host);
    bucket.host = Array();
  }

 private:
  struct Bucket {
    std::string detail;
    int operations;
    int64_t number;
    Array host;
    std::unique_ptr<AllReduce> reduction;
  };

  std::weak_ptr<GradientExchange> owner_;
  GradientExchange& exchange_;
  Group& group_;
  const std::shared_ptr<DeviceGroups> device_groups_;  // graphs of devices go before it
  DeviceGroup* const on_device_;                       // of these; null: bytes travel through the host
  std::vector<double> weights_;                        // of the ranks in this step
  std::vector<Bucket> buckets_;
};

std::string GradientExchange::obstacle() const {
  if (options_.double_buffering) return "its gradients are those of the step before (double_buffering)";
  if (options_.chainer_compatible) return "its exchange is chainer_compatible, which leaves steps out";
  if (shards_ != nullptr) return "each rank updates a part of the parameters (shard_optimizer)";
  if (group_->checks_calls()) return "KUSARI_DISTRIBUTED_DEBUG looks at gradients on the host";
  if (draws_in_steps_) return "a hook draws random numbers, which all ranks have in common";
  return {};
}

GradientExchange::StaticStep GradientExchange::begin_static_step(Optimizer& optimizer,
                                                                 std::span<Parameter* const> parameters, int stage) {
  if (step_ != nullptr && step_->has_words) return StaticStep::plain;  // of a forward computation that has failed
  if (has_new_parameters(parameters) || !obstacle().empty()) return StaticStep::plain;
  step_ = begin_step(parameters, Word::kIsStatic | (stage > 0 ? uint64_t{Word::kReplays} : 0), stage);
  const std::vector<Word> words = wait_for_words(*step_);
  check_words(optimizer, words);
  const auto all_say = [&](uint64_t flag) {
    return std::all_of(words.begin(), words.end(), [&](const Word& word) { return (word.flags & flag) != 0; });
  };
  const auto must_share = [](const Word& word) { return (word.flags & Word::kMustShare) != 0; };
  step_->is_static = all_say(Word::kIsStatic) && std::none_of(words.begin(), words.end(), must_share);
  if (!step_->is_static) return StaticStep::plain;
  if (!all_say(Word::kReplays)) return StaticStep::recorded;
  const auto differs = [&](const Word& word) { return word.stage != words[0].stage; };
  return std::any_of(words.begin(), words.end(), differs) ? StaticStep::forgotten : StaticStep::replayed;
}

void GradientExchange::record(GraphCapture& capture, Step& step, const std::vector<double>& weights) {
  const auto recorded = std::make_shared<Recorded>(*this, step.on_device);
  recorded->set_weights(weights);
  capture.on_replay(GraphCapture::When::before, [recorded] { recorded->begin(); });
  for (size_t i = 0; i < step.buckets.size(); ++i) recorded->add(step.buckets[i], step.numbers[i]);
  const auto place = [&](size_t bucket) {
    return kernels::ExchangePlace{recorded.get(), static_cast<int64_t>(bucket)};
  };
  std::vector<Array> sent;
  for (size_t i = 0; i < step.buckets.size(); ++i) {
    GradientBucket& bucket = step.buckets[i];
    if (step.on_device != nullptr && bucket.device() == step.on_device->device()) {
      sent.push_back(bucket.pack(step.scale_of, {.device = inverse_weight_->array.at(0)}));
      launch<kernels::StartDeviceExchange>(bucket.device(), place(i), sent[i]);
    } else {
      sent.push_back(bucket.pack(step.scale_of));
      launch<kernels::StartExchange>(bucket.device(), place(i), sent[i]);
    }
  }
  for (size_t i = 0; i < step.buckets.size(); ++i) {
    if (recorded->is_among_devices(sent[i])) {
      launch<kernels::FinishDeviceExchange>(sent[i].device(), place(i), sent[i]);
    } else {
      launch<kernels::FinishExchange>(sent[i].device(), place(i), sent[i]);
    }
    step.buckets[i].adopt(GradientBucket::Use::unchanged);
  }
  capture.require([recorded] { return recorded->holds(); });
  capture.on_replay(GraphCapture::When::after, [recorded] { recorded->end(); });
}

}  // namespace kusari
