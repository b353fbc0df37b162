#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kusari/framework/core/graph_capture.h"
#include "kusari/optimizers/optimizer_impl.h"

namespace kusari {

/// What a static graph that records a step learns from the optimizer: what a replay does on the host beside the
/// kernels, and what must be as it was for the kernels to be the right ones. docs/recording.md.
class Optimizer::StepRecord {
 public:
  /// The actions of a replay run in the order of these calls: hooks of single parameters see a clock that has counted
  /// the step, others one that has not.
  static std::shared_ptr<StepRecord> begin(Impl& impl, GraphCapture& capture);
  void add_groups(const Step& step);
  void end(const Step& step);

  StepRecord(Impl& impl, GraphCapture& capture);
  StepRecord(const StepRecord&) = delete;
  StepRecord& operator=(const StepRecord&) = delete;
  ~StepRecord();

 private:
  /// The elements that a recorded kernel was given, whoever holds them.
  struct Elements {
    uint64_t storage = 0;  // 0: undefined
    const void* data = nullptr;

    static Elements of(const Array& array) noexcept {
      return array.is_defined() ? Elements{array.storage().id, array.raw_data()} : Elements();
    }
    friend bool operator==(const Elements&, const Elements&) = default;
  };
  struct Member {
    Parameter* parameter;
    const detail::VariableNode* node;
    const UpdateRule* rule;
    detail::KernelRule* own_rule;  // null: somebody else's parameter
    bool is_initialized, is_updated;
    Elements array;
    std::vector<Elements> states = {};
    const Parameter* master = nullptr;
    Elements master_array = {};
    const Hyperparameters* overrides = nullptr;
    uint64_t hooks = 0;
    const LossScale* source = nullptr;
    size_t group = 0;  // of those that are updated
  };
  struct Launch {
    std::shared_ptr<Impl::GroupNumbers> numbers;
    Device device;
    const Hyperparameters* overrides;
    const detail::StepClock* clock;  // of the first member
    bool is_counted_on_device;
    double host_scale;
    Elements numbers_array, schedule_array, host_scale_array;
  };

  std::shared_ptr<StepRecord> shared() { return self_.lock(); }
  bool holds();
  bool is_same_target() const;
  static bool is_unchanged(const Member& member);
  void count_attempts();
  void write_numbers();
  void end_replay();

  Impl* impl_;
  GraphCapture* capture_;  // until end()
  std::weak_ptr<StepRecord> self_;
  std::weak_ptr<const uint64_t> owner_;  // gone: the optimizer has been assigned to
  const Link* link_;
  uint64_t structure_version_, settings_;
  detail::StepMethod::Launch launch_;
  std::vector<Member> members_;
  std::vector<Launch> launches_;
  std::shared_ptr<LossScale> last_;
  kernels::LossScaleRule scale_rule_ = {};
  Array seed_;                 // of a fixed loss scale: held, so that it stays the recorded one
  bool is_under_way_ = false;  // a replay has counted its attempt, and has not come to its end
};

}  // namespace kusari
