#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/array.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/fork_safe.h"
#include "kusari/framework/inference/callable_model.h"
#include "kusari/framework/inference/constant_pool.h"
#include "kusari/framework/inference/frozen_plan.h"
#include "kusari/framework/inference/inference_session.h"
#include "kusari/framework/static_graph/arena.h"
#include "kusari/framework/static_graph/instance.h"
#include "kusari/framework/static_graph/recorder.h"

namespace kusari::inference {

/// What an InferenceSession is made of.
class Session {
 public:
  Session(CallableModel model, InferenceSessionOptions options);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  /// `given`: null, or where the results go; then it returns none.
  Arrays run(const Arrays& inputs, const Arrays* given);
  std::string summary() const;
  int plan_count() const;
  const std::string& name() const noexcept { return options_.name; }

 private:
  /// Inputs that one recording serves.
  struct Key {
    Dtype dtype;
    Device device;
    Shape shape;
    Strides strides;
  };
  /// What is known about calls with such inputs.
  struct Entry {
    std::vector<Key> inputs;
    uint64_t last_use = 0;
    std::mutex building;                ///< held by the thread that records
    std::atomic<bool> is_ready{false};  ///< what follows is there, for good
    std::unique_ptr<FrozenPlan> plan;   ///< null: calls run as they are
    std::string reason;                 ///< why they do
    double seconds = 0;                 ///< to record and fold
    bool is_dropped = false;
  };
  /// What a call in flight works with.
  struct Lane {
    std::shared_ptr<graphs::Scratch> scratch = std::make_shared<graphs::Scratch>();
    struct Place {
      std::shared_ptr<Entry> entry;
      std::unique_ptr<graphs::Instance> instance;
    };
    std::vector<Place> places;
  };
  class Lease;

  void check_options() const;
  void check_model();
  void prepare();
  void release();
  void check_inputs(const Arrays& inputs) const;
  void check_given(std::span<const graphs::View> outputs, const Arrays& given) const;
  void check_given(const Arrays& results, const Arrays& given) const;
  [[noreturn]] void throw_misfit(size_t output, const Array& given, const std::string& expected) const;
  bool is_padded(const Arrays& inputs) const;
  Arrays run_padded(const Arrays& inputs, const Arrays* given);
  Arrays run_exactly(const Arrays& inputs, const Arrays* given);
  std::shared_ptr<Entry> entry_for(const Arrays& inputs);
  void drop_oldest();
  void forget(const std::shared_ptr<Entry>& entry) noexcept;
  void build(Entry& entry, const Arrays& inputs);
  void record(Entry& entry, const Arrays& inputs);
  bool record_unseen(const CallableModel& scratch, const Arrays& inputs, graphs::Recording& recording,
                     std::string& reason);
  bool record_live(const Arrays& inputs, graphs::Recording& recording, std::string& reason);
  bool record_call(const CallableModel& model, const Arrays& inputs, graphs::Recorder& recorder,
                   graphs::Recording& recording, std::string& reason) const;
  Variables call(const CallableModel& model, std::span<const Variable> inputs) const;
  Arrays call_plainly(const Arrays& inputs, const Arrays* given) const;
  std::string text_of(const Arrays& inputs) const;
  static std::string text_of(const std::vector<Key>& inputs);
  std::string prefix() const { return "InferenceSession '" + options_.name + "': "; }

  CallableModel model_;
  InferenceSessionOptions options_;
  ConfigSnapshot config_;
  bool is_released_ = false;  ///< the model is gone
  std::string always_plain_;  ///< why nothing is recorded at all, or empty
  ConstantPool constants_;
  bool keeps_tunings_ = false;  ///< what autotune chooses, in the cache

  mutable ForkSafeMutex mutex_;  // of what follows
  uint64_t uses_ = 0;
  size_t lanes_ = 0, recordings_ = 0, dropped_ = 0;
  std::vector<std::shared_ptr<Entry>> entries_;
  std::vector<std::unique_ptr<Lane>> free_;
};

}  // namespace kusari::inference
