#include "kusari/updaters/parallel_updater.h"

#include <algorithm>
#include <set>
#include <span>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/core/summary.h"
#include "kusari/framework/core/threads.h"
#include "kusari/updaters/replica.h"
#include "kusari/updaters/replica_thread.h"

namespace kusari::updaters {

using datasets::Example;
using Entry = detail::LinkWalk::Entry;

namespace {

/// A replica before it is made; without a model it will be a copy of the target.
struct Plan {
  std::string name;
  Device device;
  std::optional<Ref<Link>> model;
};

template <class Named>
const typename Named::value_type* find(const Named& named, const std::string& name) {
  const auto found = std::find_if(named.begin(), named.end(), [&](const auto& entry) { return entry.first == name; });
  return found == named.end() ? nullptr : &*found;
}

template <class Named>
void check_names(const Named& named, const char* option) {
  std::set<std::string> seen;
  for (const auto& [name, value] : named) {
    if (!seen.insert(name).second) {
      throw ValueError(std::string("ParallelUpdater: ") + option + " has two entries named '" + name + "'");
    }
  }
  if (!named.empty() && find(named, "main") == nullptr) {
    throw KeyError(std::string("ParallelUpdater: ") + option + " has no entry named 'main'");
  }
}

/// Main first.
std::vector<Plan> plan_replicas(const ParallelUpdaterOptions& options, Link& target) {
  check_names(options.models, "models");
  check_names(options.devices, "devices");
  std::vector<Plan> plans;
  if (options.models.empty() && options.devices.empty()) {
    throw ValueError("ParallelUpdater: neither models nor devices are given");
  }
  if (options.model.model() != nullptr && options.model.model() != &target) {
    throw ValueError("ParallelUpdater: model is not the target of the optimizer");
  }
  if ((options.model.model() != nullptr) == !options.models.empty() && options.devices.size() != 1) {
    throw ValueError(std::string("ParallelUpdater: ") +
                     (options.models.empty() ? "neither model nor" : "both model and") +
                     " models are given: `.model = model` for copies of the target, or replicas of your own");
  }
  if (options.models.empty()) {
    for (const auto& [name, device] : options.devices) plans.push_back({name, device, std::nullopt});
  }
  for (const auto& [name, model] : options.models) {
    if (name == "main" && model.get() != &target) {
      throw ValueError("ParallelUpdater: the model 'main' is not the target of the optimizer");
    }
    const Link& replica = *model;
    if (typeid(replica) != typeid(target) && !options.loss_func) {
      throw TypeError("ParallelUpdater: the model '" + name +
                      "' is of another class than the target; give a loss_func");
    }
    const auto* const device = find(options.devices, name);
    if (device == nullptr && !options.devices.empty()) {
      throw ValueError("ParallelUpdater: devices has no entry for the model '" + name + "'");
    }
    plans.push_back({name, device != nullptr ? device->second : model->device(), model});
  }
  for (const auto& [name, device] : options.devices) {
    if (!options.models.empty() && find(options.models, name) == nullptr) {
      throw ValueError("ParallelUpdater: devices has an entry '" + name + "', but there is no such model");
    }
  }
  const auto main = std::find_if(plans.begin(), plans.end(), [](const Plan& plan) { return plan.name == "main"; });
  std::rotate(plans.begin(), main, main + 1);
  return plans;
}

/// What the parts of a batch have in common with it: the first array that a PartsConverter gives.
struct PartSize {
  int64_t examples;
  int64_t arrays;
};

/// The arrays of all parts, after one that tells how many are whose.
Example join_parts(const std::vector<PartSize>& sizes, std::span<const Example> parts) {
  std::vector<int64_t> numbers;
  for (const PartSize& size : sizes) numbers.insert(numbers.end(), {size.examples, size.arrays});
  Example joined{array(numbers, {static_cast<int64_t>(sizes.size()), 2})};
  for (const Example& part : parts) {
    for (const Array& array : part) joined.push_back(array);
  }
  return joined;
}

struct Parts {
  std::vector<PartSize> sizes;
  std::vector<Example> arrays;
};

Parts split_parts(std::span<const Array> joined) {
  const std::vector<int64_t> numbers = joined[0].to_vector<int64_t>();
  Parts parts;
  size_t next = 1;
  for (size_t i = 0; i < numbers.size(); i += 2) {
    parts.sizes.push_back({numbers[i], numbers[i + 1]});
    Example& arrays = parts.arrays.emplace_back();
    for (int64_t k = 0; k < numbers[i + 1]; ++k) arrays.push_back(joined[next++]);
  }
  return parts;
}

/// Sends each part of a batch to the device of its replica.
datasets::Converter parts_converter(datasets::Converter converter, std::vector<Device> devices) {
  if (!converter) converter = datasets::concat_converter();
  const auto upload = [converter, devices](std::span<const Example> batch, const Device&) {
    const size_t n = devices.size();
    std::vector<PartSize> sizes;
    std::vector<Example> parts;
    for (size_t i = 0; i < std::clamp<size_t>(batch.size(), 1, n);
         ++i) {  // an empty batch is the converter's to refuse
      std::vector<Example> part;
      for (size_t k = i; k < batch.size(); k += n) part.push_back(batch[k]);
      parts.push_back(converter.upload(part, devices[i]));
      sizes.push_back({static_cast<int64_t>(part.size()), static_cast<int64_t>(parts.back().size())});
    }
    return join_parts(sizes, parts);
  };
  const auto finish = [converter](Example uploaded) {
    Parts parts = split_parts(uploaded);
    uploaded.clear();
    for (size_t i = 0; i < parts.sizes.size(); ++i) {
      parts.arrays[i] = converter.finish(std::move(parts.arrays[i]));
      parts.sizes[i].arrays = static_cast<int64_t>(parts.arrays[i].size());
    }
    return join_parts(parts.sizes, parts.arrays);
  };
  return datasets::Converter(upload, finish);
}

StandardUpdaterOptions standard_options(const ParallelUpdaterOptions& options, Link& target) {
  std::vector<Device> devices;
  for (const Plan& plan : plan_replicas(options, target)) devices.push_back(plan.device);
  return {.converter = parts_converter(options.converter, devices),
          .device = devices.front(),
          .loss_scale = options.loss_scale,
          .auto_new_epoch = options.auto_new_epoch,
          .loss_scaling = options.loss_scaling,
          .prefetch = options.prefetch};
}

}  // namespace

struct ParallelUpdater::Impl {
  Impl(Optimizer& optimizer, const ParallelUpdaterOptions& options);

  /// Gives main the gradients of all parts.
  void compute(Optimizer& optimizer, Parts parts);
  void list(Link& main);
  int64_t count_unknown_shapes() const;
  std::vector<Replica*> hand_out(Optimizer& optimizer, Parts& parts, std::span<const double> shares);
  void compute_main(Optimizer& optimizer, const Example& inputs, double weight) noexcept;
  void compute_beside(std::span<Replica* const> active, const ReplicaContext& context,
                      const Callable<void()>& in_this_thread);
  void report(std::span<Replica* const> active, std::span<const double> shares) const;
  double weight(double share) const { return average ? share : 1; }

  ReplicaLoss loss_func;
  datasets::Keys keys;  // of the data set
  bool average;
  Device device;                                        // of main
  std::vector<std::unique_ptr<Replica>> replicas;       // all but main
  std::vector<size_t> lanes;                            // which thread each of them works in; 0: the caller's
  std::vector<std::unique_ptr<ReplicaThread>> threads;  // from lane 1 on; none before the first step
  size_t lane_count = 1;
  int cpu_lanes = 0;  // threads that compute on the CPU

  std::vector<Entry> entries;  // of main
  uint64_t version = 0;        // structure_version() of the lists
  const Link* listed = nullptr;
  int64_t unknown_shapes = 0;  // parameters without a shape after the last step

  // Of main's part of the step under way.
  Observation observed;
  std::exception_ptr error;
};

namespace {

/// Waits for the jobs of threads, also when one could not be begun.
class Jobs {
 public:
  explicit Jobs(std::span<const std::unique_ptr<ReplicaThread>> threads) : threads_{threads} {}
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;
  ~Jobs() {
    for (const auto& thread : threads_) thread->wait();
  }

 private:
  std::span<const std::unique_ptr<ReplicaThread>> threads_;
};

}  // namespace

ParallelUpdater::Impl::Impl(Optimizer& optimizer, const ParallelUpdaterOptions& options)
    : loss_func{options.loss_func}, average{options.average} {
  std::vector<std::pair<Device, size_t>> gpus;  // with their lanes
  for (Plan& plan : plan_replicas(options, optimizer.target())) {
    const bool is_main = plan.name == "main";
    size_t lane = 0;
    const auto known =
        std::find_if(gpus.begin(), gpus.end(), [&](const auto& entry) { return entry.first == plan.device; });
    if (known != gpus.end()) {
      lane = known->second;
    } else {
      if (!is_main) lane = lane_count++;
      if (plan.device.is_cpu()) {
        ++cpu_lanes;
      } else {
        gpus.emplace_back(plan.device, lane);
      }
    }
    if (is_main) {
      device = plan.device;
      continue;
    }
    if (!plan.model) plan.model.emplace(std::shared_ptr<Link>(options.model.copy().release()));
    (*plan.model)->to(plan.device);
    replicas.push_back(std::make_unique<Replica>(plan.name, plan.device, *plan.model));
    lanes.push_back(lane);
  }
  list(optimizer.target());
}

void ParallelUpdater::Impl::list(Link& main) {
  const uint64_t now = detail::structure_version();
  if (version == now && listed == &main) return;
  entries = detail::LinkWalk::entries(main);
  for (const auto& replica : replicas) replica->match(main);
  version = now;
  listed = &main;
}

int64_t ParallelUpdater::Impl::count_unknown_shapes() const {
  return std::count_if(entries.begin(), entries.end(), [](const Entry& entry) {
    return entry.kind == detail::MemberKind::parameter && !static_cast<const Parameter*>(entry.at)->is_initialized();
  });
}

/// Gives each replica but main its part; those that have one.
std::vector<Replica*> ParallelUpdater::Impl::hand_out(Optimizer& optimizer, Parts& parts,
                                                      std::span<const double> shares) {
  std::vector<Replica*> active;
  for (size_t i = 1; i <= replicas.size(); ++i) {
    const uint64_t seed = random::bits();  // without a part as well: processes with smaller batches draw as many
    if (i >= parts.sizes.size()) continue;
    Replica* const replica = replicas[i - 1].get();
    replica->set_part({.inputs = std::move(parts.arrays[i]),
                       .weight = weight(shares[i]),
                       .scale = detail::OptimizerAccess::gradient_scale(optimizer, replica->device()),
                       .seed = seed});
    replica->report_to(get_current_reporter(), optimizer.target());
    active.push_back(replica);
  }
  return active;
}

void ParallelUpdater::Impl::compute_main(Optimizer& optimizer, const Example& inputs, double weight) noexcept {
  observed.clear();
  const auto lossfun = [&] {
    std::vector<Variable> variables;
    for (const Array& array : inputs) variables.push_back(Variable(array, false));
    return loss_func ? loss_func(optimizer.target(), variables, keys) : optimizer.call_target(variables, keys);
  };
  try {
    const auto recording = force_backprop_mode();
    std::optional<ReportScope> reports;
    if (get_current_reporter() != nullptr) reports.emplace(observed);
    optimizer.accumulate(lossfun, weight);
  } catch (...) {
    error = std::current_exception();
  }
}

/// Runs the replicas in their threads, and in this one first something else.
void ParallelUpdater::Impl::compute_beside(std::span<Replica* const> active, const ReplicaContext& context,
                                           const Callable<void()>& in_this_thread) {
  const auto run_lane = [&](size_t lane) {
    for (size_t i = 0; i < active.size(); ++i) {
      if (lanes[i] == lane) active[i]->run(context);
    }
  };
  while (threads.size() + 1 < lane_count) threads.push_back(std::make_unique<ReplicaThread>());
  const Jobs jobs(threads);
  for (size_t lane = 1; lane < lane_count; ++lane) threads[lane - 1]->begin([&run_lane, lane] { run_lane(lane); });
  std::optional<SingleThreaded> alone;
  if (context.is_single_threaded && device.is_cpu()) alone.emplace();
  in_this_thread();
  run_lane(0);
}

void ParallelUpdater::Impl::compute(Optimizer& optimizer, Parts parts) {
  Link& main = optimizer.target();
  double examples = 0;
  for (const PartSize& size : parts.sizes) examples += static_cast<double>(size.examples);
  std::vector<double> shares;
  for (const PartSize& size : parts.sizes) shares.push_back(static_cast<double>(size.examples) / examples);

  list(main);
  main.cleargrads();
  error = nullptr;
  const auto run_main = [&] { compute_main(optimizer, parts.arrays[0], weight(shares[0])); };
  // Main alone draws the first numbers of parameters whose shapes a batch decides. Those that the model does not use
  // have no shape after a step either.
  const int64_t unknown = count_unknown_shapes();
  const bool is_first = unknown > 0 && unknown != unknown_shapes;
  if (is_first) {
    run_main();
    if (error) std::rethrow_exception(error);
  }
  const std::vector<Replica*> active = hand_out(optimizer, parts, shares);
  {
    SentValues values(entries);
    for (Replica* const replica : active) replica->prepare(entries, values);
    const ReplicaContext context{.config = ConfigSnapshot(),
                                 .autocast = amp::autocast_options(),
                                 .optimizer = optimizer,
                                 .loss_func = loss_func,
                                 .keys = keys,
                                 .values = values,
                                 .is_single_threaded = cpu_lanes > 1 && cpu_lanes >= num_threads()};
    compute_beside(active, context, [&] {
      if (!is_first) run_main();
    });
  }
  for (Replica* const replica : active) {
    const std::exception_ptr thrown = replica->take_error();
    if (!error) error = thrown;
  }
  if (error) std::rethrow_exception(std::exchange(error, nullptr));
  unknown_shapes = count_unknown_shapes();
  report(active, shares);
  for (Replica* const replica : active) replica->add_gradients(entries, device);
}

void ParallelUpdater::Impl::report(std::span<Replica* const> active, std::span<const double> shares) const {
  Reporter* const reporter = get_current_reporter();
  if (reporter == nullptr) return;
  DictSummary means;
  for (size_t i = 0; i < shares.size(); ++i) {
    for (const auto& [name, value] : i == 0 ? observed : active[i - 1]->observed()) {
      const double weight = value.weight() * shares[i];
      if (!value.is_scalar()) {
        if (i == 0) reporter->observation().set(name, value);  // there is no mean of it
      } else if (value.array().is_defined()) {
        means.add(name, ObservedValue(value.array().to_device(device), weight));
      } else {
        means.add(name, value.value(), weight);
      }
    }
  }
  for (const auto& [name, mean] : means.mean_values()) reporter->observation().set(name, mean);
}

ParallelUpdater::ParallelUpdater(iterators::IteratorRef iterator, Ref<Optimizer> optimizer,
                                 ParallelUpdaterOptions options)
    : StandardUpdater(std::move(iterator), optimizer, standard_options(options, optimizer->target())),
      impl_{std::make_unique<Impl>(*optimizer, options)} {
  impl_->keys = keys();
}

ParallelUpdater::ParallelUpdater(ParallelUpdater&&) noexcept = default;
ParallelUpdater& ParallelUpdater::operator=(ParallelUpdater&&) noexcept = default;
ParallelUpdater::~ParallelUpdater() = default;

std::vector<std::string> ParallelUpdater::replica_names() const {
  std::vector<std::string> names{"main"};
  for (const auto& replica : impl_->replicas) names.push_back(replica->name());
  return names;
}

Link& ParallelUpdater::replica(const std::string& name) {
  if (name == "main") return get_optimizer("main").target();
  for (const auto& replica : impl_->replicas) {
    if (replica->name() == name) return replica->model();
  }
  throw KeyError("ParallelUpdater: there is no replica '" + name + "'");
}

void ParallelUpdater::finalize() {
  impl_->threads.clear();
  StandardUpdater::finalize();
}

void ParallelUpdater::update_core() {
  Optimizer& optimizer = get_optimizer("main");
  std::vector<Array> arrays;
  for (const Variable& input : next_inputs()) arrays.push_back(input.array());
  Parts parts = split_parts(arrays);
  int64_t examples = 0;
  for (const PartSize& size : parts.sizes) examples += size.examples;
  detail::OptimizerAccess::begin_examples(optimizer, examples);
  if (GradientExchange* const exchange = detail::OptimizerAccess::exchange(optimizer)) {
    exchange->note_replicas(static_cast<uint32_t>(impl_->replicas.size() + 1));
  }
  impl_->compute(optimizer, std::move(parts));
  optimizer.update();
  if (options().auto_new_epoch && is_new_epoch()) optimizer.new_epoch(true);
}

}  // namespace kusari::updaters
