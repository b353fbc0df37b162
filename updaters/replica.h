#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/amp/autocast.h"
#include "kusari/framework/core/array.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/device.h"
#include "kusari/framework/core/intrusive_ptr.h"
#include "kusari/framework/core/ref.h"
#include "kusari/framework/core/reporter.h"
#include "kusari/framework/datasets/dataset.h"
#include "kusari/framework/links/home.h"
#include "kusari/framework/links/link_walk.h"
#include "kusari/optimizers/optimizer_access.h"
#include "kusari/updaters/array_lists.h"
#include "kusari/updaters/replica_loss.h"

namespace kusari::updaters {

/// The parameters and persistent values of the main model on their way to the replicas, in one step.
class SentValues {
 public:
  explicit SentValues(std::span<const detail::LinkWalk::Entry> entries);

  const Device& device() const noexcept { return device_; }
  std::span<const Array> arrays() const noexcept { return arrays_; }
  /// Copies that are sent to other devices, made once for all of them. Called by the thread that made this object.
  void pack();
  /// The copies on another device.
  std::vector<Array> arrays_on(const Device& device) const;

 private:
  Device device_;
  std::vector<Array> arrays_;
  std::optional<BlockLayout> layout_;  // once packed
  std::vector<Array> blocks_;
};

/// What a thread needs to work for the caller's.
struct ReplicaContext {
  ConfigSnapshot config;
  std::optional<amp::AutocastOptions> autocast;
  const Optimizer& optimizer;
  const ReplicaLoss& loss_func;
  std::span<const std::string> keys;  // of the data set
  const SentValues& values;
  bool is_single_threaded;  // CPU kernels
};

/// A copy of the model that computes the gradients of a part of each batch.
class Replica {
 public:
  Replica(std::string name, const Device& device, Ref<Link> model);

  const std::string& name() const noexcept { return name_; }
  const Device& device() const noexcept { return device_; }
  Link& model() const { return home_->get(); }

  // --- in the caller's thread ----------------------------------------------------------------------------------------

  /// Lists the members of both models anew, main's first. Throws KeyError when they differ.
  std::vector<detail::LinkWalk::Entry> match(Link& main);
  /// Gets ready for main's values: shapes, dtypes, and what is no array.
  void prepare(std::span<const detail::LinkWalk::Entry> main, SentValues& values);
  /// Reports go where `reporter`'s would, under the names that main's links have there. Null: nobody wants them.
  void report_to(Reporter* reporter, Link& main);

  /// A part of the batch and how it counts.
  struct Part {
    datasets::Example inputs;
    double weight = 1;  // of the loss
    detail::GradientScale scale = {};
    uint64_t seed = 0;  // of random numbers
  };
  void set_part(Part part) { part_ = std::move(part); }
  /// What run() threw.
  std::exception_ptr take_error() noexcept { return std::exchange(error_, nullptr); }
  const Observation& observed() const noexcept { return observed_; }
  /// Adds the gradients to those of main on `device`.
  void add_gradients(std::span<const detail::LinkWalk::Entry> main, const Device& device);

  // --- in the replica's thread ---------------------------------------------------------------------------------------

  /// Takes main's values, and computes the gradients of the part.
  void run(const ReplicaContext& context) noexcept;

 private:
  void receive(const SentValues& values);
  void differentiate(const ReplicaContext& context);
  void collect_gradients(const Device& main);

  std::string name_;
  Device device_;
  Ref<Link> owner_;
  IntrusivePtr<Home> home_;
  std::vector<detail::LinkWalk::Entry> entries_;
  std::vector<Array> values_;  // for SentValues::arrays()

  std::unique_ptr<Reporter> reporter_;
  uint64_t reporter_version_ = 0;  // of what reporter_ knows
  bool reports_ = false;
  Observation observed_;

  Part part_;
  std::exception_ptr error_;
  std::vector<size_t> differentiated_;  // entries with a gradient
  std::vector<Array> gradients_;        // of those, when main is on the same device
  std::optional<BlockLayout> layout_;   // and otherwise
  std::vector<Array> blocks_;
};

}  // namespace kusari::updaters
