#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/dtype.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"

namespace kusari {

class DeviceGroups;
class GradientBucket;
class GraphCapture;
class Optimizer;
namespace collectives {
class Group;
}
namespace detail {
struct DeviceNumbers;
class DividedGradients;
class FinalLeaves;
class StateShards;
}  // namespace detail

struct GradientExchangeOptions {
  /// In which gradients travel; each gradient's own when not given.
  std::optional<Dtype> wire_dtype = std::nullopt;
  /// Gradients of one dtype are exchanged together up to this many bytes; 0: each by itself.
  int64_t bucket_bytes = int64_t{8} << 20;
  /// False: everything but the exchange of gradients.
  bool exchanges = true;
  /// Start buckets while backward computes the gradients of others: update(lossfun) alone.
  bool overlaps = false;
  /// Take each step with the gradients of the one before, whose exchange then has a step's time.
  bool double_buffering = false;
  /// Each rank updates a part of the parameters, and has the state of that part alone.
  bool shards_state = false;
  /// With shards_state, and `overlaps`: and it gets the gradients of that part alone; while there are hooks or
  /// observers, which see them whole, it has them all until the step ends.
  bool shards_gradients = false;
  /// All batches are computed in so many parts, whose gradients are added in one order for every number of ranks that
  /// divides it: a power of two. Rank r of the group has the examples bit_reversed(r), + N, ... of each. 0: not so.
  int64_t parts = 0;
  /// As ChainerMN does it: the first step, and each after parameters have got their shape, shares the root's values and
  /// no gradients; all others take means of ranks that weigh alike, in which parameters without a gradient are zeros.
  bool chainer_compatible = false;
  /// By which gradients that are not on the CPU travel, if all ranks' are not; null: through the host.
  std::shared_ptr<DeviceGroups> device_groups = nullptr;
};

/// What an optimizer does together with those of other processes: all begin with the same values, and each step takes
/// the mean of all ranks' gradients, weighted by their numbers of examples where these are known.
class KUSARI_API GradientExchange : public std::enable_shared_from_this<GradientExchange> {
 public:
  GradientExchange(std::shared_ptr<collectives::Group> group, const GradientExchangeOptions& options);
  GradientExchange(const GradientExchange&) = delete;
  GradientExchange& operator=(const GradientExchange&) = delete;
  ~GradientExchange();

  collectives::Group& group() const noexcept { return *group_; }
  const GradientExchangeOptions& options() const noexcept { return options_; }

  /// Gives all ranks what the root's model and optimizer have, and its random numbers. Throws StateError where the
  /// models differ, naming the first parameter that does. Collective.
  void share(Optimizer& optimizer);
  /// Somebody has written to the values of this rank: the next step shares the root's again.
  void request_sharing() noexcept { must_share_ = true; }
  /// Examples of which the gradients of the next step are; sums are counted until then, from begin_examples on, if
  /// that is called.
  void note_examples(int64_t examples) noexcept;
  void begin_examples(int64_t examples) noexcept { examples_ = examples; }
  void forget_examples() noexcept { examples_.reset(); }
  bool knows_examples() const noexcept { return examples_.has_value(); }
  /// The gradients of the next step are sums over so many replicas of the model, the same number on all ranks.
  void note_replicas(uint32_t replicas) noexcept { replicas_ = replicas; }

  /// Replaces the gradients of a target's initialised parameters by the weighted means over the ranks. False: there are
  /// none yet to take a step with (double_buffering). Collective.
  bool run(Optimizer& optimizer, std::span<Parameter* const> parameters);
  /// The gradients are new: see Optimizer::update.
  void forget_exchanged() noexcept;
  bool run_once(Optimizer& optimizer, std::span<Parameter* const> parameters);

  /// The same for a model without an optimizer, of gradients that weigh alike. With `zero_fill` parameters without a
  /// gradient on any rank get zeros.
  void average(Link& model, bool zero_fill);

  /// Before the backward pass of a step: tells the others of the step, and starts the exchange of gradients that the
  /// pass tells it of. The listener lives as long as the exchange; null: nothing starts early.
  detail::FinalLeaves* begin_backward(Optimizer& optimizer, std::span<Parameter* const> parameters);
  /// The pass has thrown the current exception: where others have heard of the step, they hear of that, too.
  void backward_failed() const noexcept;

  /// What lives while a loss is computed: random numbers of this rank alone, from one that all ranks draw once a step,
  /// however many losses a rank computes for it. Where it makes parameters, they are those that all ranks have in
  /// common, and that one process would draw.
  std::shared_ptr<void> forward_scope(std::shared_ptr<void> outer, bool makes_parameters);
  /// The same for a copy of the target in a thread that draws from a stream of its own.
  std::shared_ptr<void> copy_scope(std::shared_ptr<void> outer) const;

  /// How the ranks share in the steps; null: each takes all of them.
  detail::StateShards* shards() noexcept { return shards_.get(); }
  /// The gradients of this step where each rank has its part of them alone, and parameters have none; otherwise null.
  detail::DividedGradients* divided() noexcept { return divided_.get(); }

  /// With `parts`: how many are this rank's.
  int64_t own_parts() const noexcept;
  /// What lives while the loss of one of them is computed: random numbers of that part.
  std::shared_ptr<void> part_scope(std::shared_ptr<void> outer, int64_t part);
  /// The gradients of the next step are sums over this rank's parts, of so many examples.
  void note_parts(int64_t examples) noexcept;

  // For static graphs of whole steps, whose kernels the exchange is among: recorded_exchange.cc.

  /// Why that cannot be; empty: it can.
  std::string obstacle() const;
  /// What becomes of a step.
  enum class StaticStep : uint8_t { plain, recorded, replayed, forgotten };
  /// Before the forward computation of a step that may be a static graph on some rank: hears from all ranks, unless
  /// there is an obstacle or parameters are new, as on all of them. All replay theirs if each can, and none of them
  /// otherwise; plain: it cannot be recorded either. `stage`: how far a device has got with a graph of its own of the
  /// recorded step, 0: there is none; ranks that are at different stages forget what is recorded, since what devices do
  /// among themselves is in the graphs of all ranks, or of none. Collective.
  StaticStep begin_static_step(Optimizer& optimizer, std::span<Parameter* const> parameters, int stage);
  /// Whether a step has drawn random numbers that are the same on all ranks.
  void note_draws(bool has_drawn) noexcept { draws_in_steps_ = draws_in_steps_ || has_drawn; }

  /// Seconds that steps have waited for other ranks.
  double waited() const noexcept { return waited_; }
  void count_wait(double seconds) noexcept { waited_ += seconds; }
  int64_t steps() const noexcept { return steps_; }

 private:
  struct Word;
  struct Step;
  class Early;
  class Recorded;

  bool has_new_parameters(std::span<Parameter* const> parameters) const;
  uint64_t common_number();
  void follow_draws(const std::vector<Word>& words);
  uint64_t flags_of(Optimizer& optimizer) const;
  Word own_word(std::span<Parameter* const> parameters, uint64_t flags, int stage) const;
  std::unique_ptr<Step> begin_step(std::span<Parameter* const> parameters, uint64_t flags, int stage = 0);
  std::vector<Word> wait_for_words(Step& step);
  void check_words(Optimizer& optimizer, const std::vector<Word>& words);
  bool is_unshared(std::span<Parameter* const> parameters);
  std::vector<double> weights_of(const std::vector<Word>& words) const;
  std::string merged_marks(const std::string& own);
  std::vector<bool> present_in(std::span<Parameter* const> parameters, bool ranks_differ);
  std::vector<bool> share_state(Optimizer& optimizer, bool with_persistents);
  const std::string& detail_of(Link& target, std::span<Parameter* const> members, size_t bucket);
  std::vector<GradientBucket> plan(Link& target, std::span<Parameter* const> parameters,
                                   const std::vector<bool>& present);
  void plan_ahead(Step& step, Optimizer& optimizer, std::span<Parameter* const> parameters);
  void start_until(Step& step, size_t count);
  void find_devices(Step& step, const std::vector<Word>& words, std::span<Parameter* const> parameters);
  static bool has_device(std::span<Parameter* const> parameters);
  void find_devices_ahead(Step& step, std::span<Parameter* const> parameters);
  static bool others_must_share(const Step& step);
  void set_weight(const Device& device, double weight);
  void divide_ahead(Step& step, Optimizer& optimizer);
  void finish_divided(Step& step, std::span<Parameter* const> parameters);
  void record(GraphCapture& capture, Step& step, const std::vector<double>& weights);
  void end_step() noexcept;
  void divide_sums(std::span<Parameter* const> parameters, double examples);
  bool finish_previous(std::vector<GradientBucket> started, const std::vector<double>& weights);

  std::shared_ptr<collectives::Group> group_;
  GradientExchangeOptions options_;
  std::optional<int64_t> examples_;
  uint32_t replicas_ = 1;
  bool must_share_ = true;
  bool has_parts_ = false;  // the gradients of the next step are sums over parts
  bool is_exchanged_ = false;
  bool draws_in_steps_ = false;     // see note_draws
  std::optional<uint64_t> common_;  // the step's number that all ranks draw, once it is drawn
  uint64_t forwards_ = 0;           // losses of this step, as far as this rank has come
  bool has_step_ = true;            // whether what was exchanged last is for a step
  std::unique_ptr<Step> step_;      // one that has begun before its gradients were complete
  std::unique_ptr<Early> early_;
  std::unique_ptr<detail::StateShards> shards_;
  std::unique_ptr<detail::DividedGradients> divided_;
  std::unique_ptr<detail::DeviceNumbers> inverse_weight_;  // of this rank, for device_groups
  std::vector<GradientBucket> previous_;                   // with double_buffering: on their way
  std::vector<double> previous_weights_;
  uint64_t shared_structure_ = 0;
  int64_t steps_ = 0;
  double waited_ = 0;
  struct Detail {
    const Parameter* first = nullptr;
    const Parameter* last = nullptr;
    std::string text = {};
  };
  std::vector<Detail> details_;  // what messages call the buckets
};

namespace detail {

/// The dtype, if gradients may travel in it. Throws ValueError naming `call` and `option` for one that is not floating.
KUSARI_API std::optional<Dtype> checked_wire_dtype(const char* call, const char* option, std::optional<Dtype> dtype);

/// Has the optimizer exchange its gradients from now on; null: no longer. Collective if it has a target.
KUSARI_API void attach_exchange(Optimizer& optimizer, std::shared_ptr<GradientExchange> exchange);
/// Null for an optimizer without.
KUSARI_API GradientExchange* exchange_of(const Optimizer& optimizer) noexcept;

/// Whether all ranks' models have the same parameters: paths, shapes (unknown ones fit all, if they `may`) and dtypes.
/// Throws StateError naming `call` and the first that differs. Collective.
KUSARI_API void compare_models(const char* call, collectives::Group& group, Link& model, bool unknown_may_fit = true);

}  // namespace detail
}  // namespace kusari
