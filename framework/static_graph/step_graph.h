#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/owned.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/static_graph/signature.h"
#include "kusari/framework/static_graph/static_graph.h"

namespace kusari::graphs {

/// Steps of training as replays of recorded ones: forward, backward and update of the parameters as one list of
/// kernels. What the update needs on the host, it tells the GraphCapture that records it.
///
/// After a replay the parameters of the model hold their gradients, and the members that links set at each call their
/// values, as after the step itself; but gradients lie in memory that the next replay overwrites: who keeps one that
/// long gets StateError where he uses it.
class KUSARI_API StepGraph {
 public:
  struct Step {
    void (*run)(void* object, std::span<const Variable> inputs);
    void* object;
    Link* model;                ///< whose gradients the step clears, and computes anew
    bool calls_others = false;  ///< links beside the model may report, or set members
    bool has_states = false;    ///< what a step keeps is an input of the next
  };

  explicit StepGraph(StaticGraphOptions options);
  StepGraph(const StepGraph&) = delete;
  StepGraph& operator=(const StepGraph&) = delete;
  ~StepGraph();

  /// 0: replay() has nothing to replay. Otherwise how far a device has got with making a graph of its own of it, from 1
  /// on.
  int stage(const Step& step, std::span<const Variable> inputs, const Surroundings& surroundings);
  /// Replays a step that was recorded with inputs of this kind in the same surroundings. False: there is none, or it is
  /// out of date.
  bool replay(const Step& step, std::span<const Variable> inputs, const Surroundings& surroundings);
  /// Where replay() has failed: runs the step, and records it unless that has turned out to be of no use. Throws
  /// StateError when it does what cannot be replayed, unless options.fallback.
  void run(const Step& step, std::span<const Variable> inputs, const Surroundings& surroundings);

  const StaticGraphOptions& options() const noexcept { return options_; }
  const std::string& name() const noexcept { return options_.name; }
  /// Replays so far.
  int64_t replays() const noexcept { return replays_; }
  std::string summary() const;
  std::string dot() const;
  void clear() noexcept;

 private:
  class Recorded;
  struct Entry;

  Entry* find(std::span<const Variable> inputs, const Surroundings& surroundings) const noexcept;
  Entry* find_recorded(const Step& step, std::span<const Variable> inputs, const Surroundings& surroundings);
  Entry* add(std::span<const Variable> inputs, const Surroundings& surroundings);
  void record(Entry& entry, const Step& step, std::span<const Variable> inputs);
  void give_up(Entry& entry, const std::string& reason) const;

  StaticGraphOptions options_;
  std::vector<Owned<Entry>> entries_;
  std::set<uint64_t> escaped_;  // ids of storages that recorded steps have left in somebody's hands
  bool is_full_ = false;        // a signature was refused
  int64_t replays_ = 0;
};

}  // namespace kusari::graphs
