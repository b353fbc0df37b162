#include "kusari/optimizers/gradient_exchange.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <unordered_map>

#include "kusari/framework/autograd/final_leaves.h"
#include "kusari/framework/core/collectives.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/core/profiler.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/kernels/device_group.h"
#include "kusari/framework/serializers/dictionary_message.h"
#include "kusari/optimizers/divided_gradients.h"
#include "kusari/optimizers/exchange_step.h"
#include "kusari/optimizers/gradient_bucket.h"
#include "kusari/optimizers/hooks/fused.h"
#include "kusari/optimizers/optimizer_impl.h"
#include "kusari/optimizers/state_shards.h"

namespace kusari {

using collectives::Group;
using detail::GradientScale;

namespace {

constexpr const char* kStep = "step";
constexpr uint64_t kBasis = 0xcbf29ce484222325u;

uint64_t mixed_in(uint64_t hash, uint64_t value) noexcept {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 32);
}

uint64_t hash_of(std::string_view bytes) noexcept {
  uint64_t hash = kBasis;
  size_t at = 0;
  for (; at + sizeof(uint64_t) <= bytes.size(); at += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    hash = mixed_in(hash, word);
  }
  for (; at < bytes.size(); ++at) hash = mixed_in(hash, static_cast<unsigned char>(bytes[at]));
  return hash;
}

bool holds_gradient(const Parameter& parameter) { return parameter.node()->grad != nullptr; }

// What a rank has of a parameter.
constexpr char kGradient = 1, kNoShape = 2;

std::string marks_of(std::span<Parameter* const> parameters, bool fills) {
  std::string marks;
  for (const Parameter* const parameter : parameters) {
    const char gradient = fills || holds_gradient(*parameter) ? kGradient : 0;
    marks.push_back(parameter->is_initialized() ? gradient : kNoShape);
  }
  return marks;
}

std::vector<bool> present_by(const std::string& marks) {
  std::vector<bool> present;
  for (const char mark : marks) present.push_back((mark & kGradient) != 0);
  return present;
}

uint64_t structure_of(std::span<Parameter* const> parameters) {
  uint64_t hash = kBasis;
  for (const Parameter* const parameter : parameters) {
    if (!parameter->is_initialized()) {
      hash = mixed_in(hash, 1);
      continue;
    }
    hash = mixed_in(hash, 2 + static_cast<uint64_t>(parameter->dtype()));
    for (const int64_t size : parameter->shape()) hash = mixed_in(hash, static_cast<uint64_t>(size) + 16);
  }
  return hash;
}

/// What lives while a loss is computed.
struct RankScope {
  RankScope(std::shared_ptr<void> around, uint64_t seed) : outer{std::move(around)}, stream{seed} {}
  std::shared_ptr<void> outer;
  random::LocalStream stream;
};

/// The scope of one of several places, which draw other numbers.
[[gnu::noinline]] std::shared_ptr<void> scope_of(std::shared_ptr<void> outer, uint64_t common, int64_t place) {
  return std::make_shared<RankScope>(std::move(outer), mixed_in(common, static_cast<uint64_t>(place)));
}

}  // namespace

/// Starts buckets in their order, each when all its gradients are there.
class GradientExchange::Early final : public detail::FinalLeaves {
 public:
  Early(GradientExchange& exchange, Step& step, std::span<const std::vector<Parameter*>> members)
      : exchange_{exchange}, step_{step} {
    for (size_t bucket = 0; bucket < members.size(); ++bucket) {
      awaited_.push_back(members[bucket].size());
      for (const Parameter* const parameter : members[bucket]) bucket_of_.emplace(parameter->node(), bucket);
    }
  }
  void is_final(detail::VariableNode* leaf) override {
    const auto found = bucket_of_.find(leaf);
    if (found != bucket_of_.end()) --awaited_[found->second];
    size_t ready = step_.started;
    while (ready < awaited_.size() && awaited_[ready] == 0) ++ready;
    exchange_.start_until(step_, ready);
  }
  void look() override {
    if (step_.divided != nullptr) return step_.divided->look();
    for (size_t i = 0; i < step_.started; ++i) step_.buckets[i].test();
  }

 private:
  GradientExchange& exchange_;
  Step& step_;
  std::vector<size_t> awaited_;  // gradients of each bucket
  std::unordered_map<const detail::VariableNode*, size_t> bucket_of_;
};

GradientExchange::GradientExchange(std::shared_ptr<Group> group, const GradientExchangeOptions& options)
    : group_{std::move(group)}, options_{options} {
  if (options_.shards_state && group_->size() > 1) shards_ = std::make_unique<detail::StateShards>(*group_);
}

GradientExchange::~GradientExchange() {
  if (previous_.empty() || std::uncaught_exceptions() > 0) return;
  try {  // nobody takes a step with them, but other ranks wait for this one's part
    for (GradientBucket& bucket : previous_) bucket.finish(previous_weights_, GradientBucket::Use::none);
  } catch (const std::exception& error) {
    log::warn(std::string("GradientExchange: the last exchange was given up: ") + error.what());
  }
}

void GradientExchange::forget_exchanged() noexcept {
  is_exchanged_ = false;
  divided_ = nullptr;
}

void GradientExchange::note_examples(int64_t examples) noexcept { examples_ = examples_.value_or(0) + examples; }

uint64_t GradientExchange::common_number() {
  if (!common_) {
    const ScopedGraphCapture once(nullptr);  // a replay gets a scope of its own
    common_ = random::bits();
  }
  return *common_;
}

// A rank that computes no loss in this step draws what the others have drawn.
void GradientExchange::follow_draws(const std::vector<Word>& words) {
  uint64_t flags = 0;
  for (const Word& word : words) flags |= word.flags;
  if ((flags & Word::kHasDrawn) != 0) common_number();
}

std::shared_ptr<void> GradientExchange::forward_scope(std::shared_ptr<void> outer, bool makes_parameters) {
  if (group_->size() == 1 || makes_parameters) return outer;
  const uint64_t common = common_number(), number = forwards_++;
  return scope_of(std::move(outer), number == 0 ? common : mixed_in(common, number), group_->rank());
}

std::shared_ptr<void> GradientExchange::copy_scope(std::shared_ptr<void> outer) const {
  if (group_->size() == 1) return outer;
  const ScopedGraphCapture once(nullptr);
  return scope_of(std::move(outer), random::bits(), group_->rank());
}

std::shared_ptr<void> GradientExchange::part_scope(std::shared_ptr<void> outer, int64_t part) {
  const int64_t place = detail::bit_reversed(group_->rank(), group_->size()) + part * group_->size();
  return scope_of(std::move(outer), common_number(), place);
}

int64_t GradientExchange::own_parts() const noexcept { return options_.parts / group_->size(); }

void GradientExchange::note_parts(int64_t examples) noexcept {
  examples_ = examples;
  has_parts_ = true;
}

// What one rank does, too: the sums are of the same bits for any number of ranks.
void GradientExchange::divide_sums(std::span<Parameter* const> parameters, double examples) {
  std::vector<Parameter*> summed;
  for (Parameter* const parameter : parameters) {
    if (parameter->is_initialized() && holds_gradient(*parameter)) summed.push_back(parameter);
  }
  if (examples > 0) optimizer_hooks::scale_gradients(summed, 1 / examples);
}

void GradientExchange::share(Optimizer& optimizer) {
  if (group_->size() == 1 || options_.chainer_compatible) return;
  detail::compare_models("Optimizer::setup", *group_, optimizer.target());
  share_state(optimizer, true);
}

// Gives all ranks what the root has; which ranks had its parameters.
std::vector<bool> GradientExchange::share_state(Optimizer& optimizer, bool with_persistents) {
  const auto packed = [](const auto& visit) {
    serializers::DictionarySerializer writer;
    visit(static_cast<Serializer&>(writer));
    return serializers::pack_dictionary(writer.dictionary());
  };
  detail::OptimizerAccess::gather_state(optimizer, true);
  const auto model = [&](Serializer& serializer) { optimizer.target().serialize(serializer); };
  const auto rules = [&](Serializer& serializer) { optimizer.serialize(serializer); };
  std::string own[] = {packed(model), packed(rules)};
  struct Digest {
    uint64_t parameters, state;
  };
  Digest digest{kBasis, hash_of(own[1])};
  for (const auto& [path, parameter] : optimizer.target().namedparams(false)) {
    digest.parameters = mixed_in(digest.parameters, hash_of(serializers::pack_array(parameter->array())));
  }
  // What ranks count for themselves, such as running means, may have gone its ways since the setup.
  if (with_persistents) digest.state = mixed_in(digest.state, hash_of(own[0]));
  const std::vector<std::string> digests =
      group_->allgather({"comparison of states"}, {reinterpret_cast<const char*>(&digest), sizeof(digest)});
  std::vector<bool> has_parameters;
  for (const std::string& other : digests) {
    has_parameters.push_back(std::memcmp(other.data(), digests[0].data(), sizeof(uint64_t)) == 0);
  }
  if (std::any_of(digests.begin(), digests.end(), [&](const std::string& other) { return other != digests[0]; })) {
    const auto take = [&](const char* what, const std::string& mine, const auto& visit) {
      const std::string shared = group_->bcast({what}, mine, 0);
      if (digests[static_cast<size_t>(group_->rank())] == digests[0]) return;
      serializers::EntryDeserializer reader(
          "Optimizer", serializers::entries_in_memory(what, serializers::unpack_dictionary(shared)), {});
      visit(static_cast<Serializer&>(reader));
    };
    take("the root's model", own[0], model);
    take("the root's optimizer", packed(rules), rules);
  }
  RandomState stream = random::state();
  const std::string shared =
      group_->bcast({"the root's random numbers"}, {reinterpret_cast<const char*>(&stream), sizeof(stream)}, 0);
  std::memcpy(&stream, shared.data(), sizeof(stream));
  random::set_state({stream.seed, stream.offset});
  must_share_ = false;
  return has_parameters;
}

bool GradientExchange::has_new_parameters(std::span<Parameter* const> parameters) const {
  return structure_of(parameters) != shared_structure_;
}

bool GradientExchange::run_once(Optimizer& optimizer, std::span<Parameter* const> parameters) {
  if (!is_exchanged_) has_step_ = run(optimizer, parameters);
  is_exchanged_ = true;
  return has_step_;
}

GradientExchange::Word GradientExchange::own_word(std::span<Parameter* const> parameters, uint64_t flags,
                                                  int stage) const {
  uint64_t present = kBasis;
  for (const Parameter* const parameter : parameters) {
    if ((flags & Word::kIsStatic) != 0) break;
    present = mixed_in(present, parameter->is_initialized() && holds_gradient(*parameter) ? 1 : 0);
  }
  const uint64_t wire = options_.wire_dtype ? static_cast<uint64_t>(*options_.wire_dtype) + 1 : 0;
  const uint64_t structure = structure_of(parameters);
  return {.step = steps_ + 1,
          .history = group_->history(),
          .structure = structure,
          .present = present,
          .settings = mixed_in(
              mixed_in(wire, static_cast<uint64_t>(options_.bucket_bytes)),
              (options_.exchanges ? 1u : 0u) + (options_.overlaps ? 2u : 0u) + (options_.double_buffering ? 4u : 0u) +
                  (options_.shards_state ? 8u : 0u) + (options_.shards_gradients ? uint64_t{2} << 32 : 0u) +
                  16u * static_cast<uint64_t>(options_.parts) + (options_.chainer_compatible ? uint64_t{1} << 32 : 0u)),
          .examples = examples_.value_or(-1),
          .flags = flags | (has_device(parameters) && options_.device_groups ? uint64_t{Word::kOnDevice} : 0) |
                   (must_share_ || structure != shared_structure_ ? uint64_t{Word::kMustShare} : 0) |
                   (common_ ? uint64_t{Word::kHasDrawn} : 0),
          .stage = static_cast<uint32_t>(stage),
          .replicas = replicas_};
}

std::unique_ptr<GradientExchange::Step> GradientExchange::begin_step(std::span<Parameter* const> parameters,
                                                                     uint64_t flags, int stage) {
  static_assert(sizeof(Word) == 64);
  const auto size = static_cast<size_t>(group_->size());
  auto step = std::make_unique<Step>();
  step->words = std::make_shared<std::vector<Word>>(size);
  (*step->words)[static_cast<size_t>(group_->rank())] = own_word(parameters, flags, stage);
  std::vector<size_t> offsets(size), counts(size, sizeof(Word));
  for (size_t rank = 0; rank < size; ++rank) offsets[rank] = rank * sizeof(Word);
  step->ticket = group_->start_allgather({kStep}, step->words->data(), offsets, counts);
  step->ticket->held = step->words;
  step->number = group_->operations();
  return step;
}

std::vector<GradientExchange::Word> GradientExchange::wait_for_words(Step& step) {
  if (!step.has_words) waited_ += group_->wait(*step.ticket, {kStep}, step.number);
  step.has_words = true;
  return *step.words;
}

void GradientExchange::check_words(Optimizer& optimizer, const std::vector<Word>& words) {
  const Word& first = words[0];
  for (size_t rank = 0; rank < words.size(); ++rank) {
    const Word& word = words[rank];
    const auto refuse = [&](const std::string& what) {
      const std::string text = std::string(optimizer.name()) + "::update: " + group_->describe(static_cast<int>(rank)) +
                               " and " + group_->describe(0) + " " + what;
      group_->fail("StateError: " + text);
      throw StateError(text);
    };
    if (word.step != first.step) {
      refuse("are at steps " + std::to_string(word.step) + " and " + std::to_string(first.step) +
             ": optimizers must take their steps on all ranks in the same order");
    }
    if (word.history != first.history) {
      refuse("have called other operations before step " + std::to_string(word.step) +
             "; KUSARI_DISTRIBUTED_DEBUG=1 compares each of them");
    }
    if (word.settings != first.settings) refuse("exchange gradients with other options");
    if (word.replicas != first.replicas) {
      refuse("have " + std::to_string(word.replicas) + " and " + std::to_string(first.replicas) +
             " replicas of the model: ParallelUpdater must have as many on all ranks");
    }
  }
  const auto differs = [&](const Word& word) { return word.structure != first.structure; };
  if (std::any_of(words.begin(), words.end(), differs)) {
    const std::string call = std::string(optimizer.name()) + "::update";
    detail::compare_models(call.c_str(), *group_, optimizer.target(), false);
    throw StateError(call + ": the optimizers of the ranks have other parameters");
  }
}

std::vector<double> GradientExchange::weights_of(const std::vector<Word>& words) const {
  std::vector<double> weights(words.size(), 1.0 / static_cast<double>(words.size()));
  double all = 0;
  for (const Word& word : words) {
    if (word.examples < 0 || options_.chainer_compatible) return weights;
    all += static_cast<double>(word.examples);
  }
  if (all == 0) return weights;
  for (size_t i = 0; i < words.size(); ++i) weights[i] = static_cast<double>(words[i].examples) / all;
  return weights;
}

std::string GradientExchange::merged_marks(const std::string& own) {
  std::string marks = own;
  for (const std::string& other : group_->allgather({"gradients that there are"}, own)) {
    for (size_t i = 0; i < marks.size(); ++i) marks[i] = static_cast<char>(marks[i] | other[i]);
  }
  return marks;
}

// Where the ranks differ, who lacks a gradient gives zeros.
std::vector<bool> GradientExchange::present_in(std::span<Parameter* const> parameters, bool ranks_differ) {
  const std::string own = marks_of(parameters, options_.chainer_compatible);
  return present_by(ranks_differ ? merged_marks(own) : own);
}

detail::FinalLeaves* GradientExchange::begin_backward(Optimizer& optimizer, std::span<Parameter* const> parameters) {
  early_ = nullptr;
  if (step_ != nullptr && !step_->has_words) step_ = nullptr;
  if (!options_.overlaps || !options_.exchanges || group_->size() == 1 || is_exchanged_) return nullptr;
  if (step_ == nullptr) step_ = begin_step(parameters, flags_of(optimizer));
  std::vector<std::vector<Parameter*>> members;
  if (options_.shards_gradients) divide_ahead(*step_, optimizer);
  if (step_->divided != nullptr) {
    members = step_->divided->buckets();
  } else {
    find_devices_ahead(*step_, parameters);
    plan_ahead(*step_, optimizer, parameters);
    if (GraphCapture::current() != nullptr) return nullptr;  // replays start buckets where they have come to
    if (must_share_ || has_new_parameters(parameters) || others_must_share(*step_)) return nullptr;
    for (const GradientBucket& bucket : step_->buckets) members.push_back(bucket.members());
  }
  early_ = std::make_unique<Early>(*this, *step_, members);
  return early_.get();
}

void GradientExchange::backward_failed() const noexcept {
  if (options_.overlaps && step_ != nullptr) collectives::announce_failure(std::current_exception());
}

void GradientExchange::plan_ahead(Step& step, Optimizer& optimizer, std::span<Parameter* const> parameters) {
  std::vector<bool> present;
  for (const Parameter* const parameter : parameters) present.push_back(parameter->is_initialized());
  step.buckets = plan(optimizer.target(), parameters, present);
  step.scale_of = [&optimizer](const Device& device) {
    return detail::OptimizerAccess::gradient_scale(optimizer, device);
  };
  for (const GradientBucket& bucket : step.buckets) {
    step.numbers.push_back(group_->reserve({"all-reduce"}, bucket.operations()));
  }
}

void GradientExchange::start_until(Step& step, size_t count) {
  for (; step.divided != nullptr && step.started < count; ++step.started) step.divided->start(step.started);
  for (; step.started < count; ++step.started) {
    GradientBucket& bucket = step.buckets[step.started];
    if (step.on_device != nullptr && bucket.device() == step.on_device->device()) {
      bucket.start_on(*step.on_device, step.scale_of, inverse_weight_->array.at(0));
      continue;
    }
    bucket.start(*group_, step.scale_of, step.numbers[step.started]);
  }
}

// Whether the root's values have yet to be shared; from now on they count as shared.
bool GradientExchange::is_unshared(std::span<Parameter* const> parameters) {
  const uint64_t structure = structure_of(parameters);
  const bool is_new = std::exchange(shared_structure_, structure) != structure;
  return std::exchange(must_share_, false) || is_new;
}

bool GradientExchange::run(Optimizer& optimizer, std::span<Parameter* const> parameters) {
  if (options_.parts > 0 && !std::exchange(has_parts_, false)) {
    throw StateError(std::string(optimizer.name()) +
                     "::update: with `reproducible` gradients are computed by update(lossfun, x, t), or by "
                     "StandardUpdater");
  }
  if (group_->size() == 1) {
    if (options_.chainer_compatible && is_unshared(parameters)) return false;
    if (options_.parts > 0) divide_sums(parameters, static_cast<double>(*examples_));
    end_step();
    return true;
  }
  if (step_ == nullptr || !step_->is_static) {
    GraphCapture::refuse("Optimizer::update", "gradients are exchanged with other processes");
  }
  const profiler::Range range("exchange");
  early_ = nullptr;
  const std::unique_ptr<Step> step = step_ ? std::move(step_) : begin_step(parameters, flags_of(optimizer));
  if (options_.shards_gradients && step->divided == nullptr && step->buckets.empty()) {
    divide_ahead(*step, optimizer);
  }
  if (step->divided != nullptr) {
    follow_draws(*step->words);
    finish_divided(*step, parameters);
    return true;
  }
  const bool plans_ahead = (options_.overlaps || step->is_static) && options_.exchanges;
  if (plans_ahead && step->buckets.empty()) {
    find_devices_ahead(*step, parameters);
    plan_ahead(*step, optimizer, parameters);
  }
  const std::vector<Word> words = wait_for_words(*step);
  check_words(optimizer, words);
  follow_draws(words);
  std::vector<double> weights = weights_of(words);
  const auto any_word = [&](const auto& test) { return std::any_of(words.begin(), words.end(), test); };
  if (any_word([](const Word& word) { return (word.flags & Word::kMustShare) != 0; })) {
    // Gradients of a rank that had other values than the root are none of this model's.
    const std::vector<bool> had_it = share_state(optimizer, false);
    double all = 0;
    for (size_t i = 0; i < weights.size(); ++i) all += had_it[i] ? weights[i] : 0;
    for (size_t i = 0; i < weights.size() && all > 0; ++i) weights[i] = had_it[i] ? weights[i] / all : 0;
    shared_structure_ = words[0].structure;
    if (options_.chainer_compatible) {
      end_step();
      return false;
    }
  }
  double examples = 0;
  for (size_t i = 0; i < weights.size() && options_.parts > 0; ++i) {
    weights[i] = weights[i] > 0 ? 1 : 0;
    examples += weights[i] * static_cast<double>(words[i].examples);
  }
  if (options_.exchanges) find_devices(*step, words, parameters);
  if (step->on_device != nullptr) set_weight(step->on_device->device(), weights[static_cast<size_t>(group_->rank())]);
  bool has_step = true;
  if (GraphCapture* const capture = GraphCapture::current()) {
    record(*capture, *step, weights);
  } else if (plans_ahead) {
    start_until(*step, step->buckets.size());
    for (GradientBucket& bucket : step->buckets) waited_ += bucket.finish(weights, GradientBucket::Use::unchanged);
  } else if (options_.exchanges) {
    const bool differ = any_word(
        [&](const Word& word) { return word.present != words[0].present || (word.flags & Word::kIsStatic) != 0; });
    std::vector<GradientBucket> buckets = plan(optimizer.target(), parameters, present_in(parameters, differ));
    const auto scale_of = [&](const Device& device) {
      return detail::OptimizerAccess::gradient_scale(optimizer, device);
    };
    for (GradientBucket& bucket : buckets) {
      if (step->on_device != nullptr && bucket.device() == step->on_device->device()) {
        bucket.start_on(*step->on_device, scale_of, inverse_weight_->array.at(0));
      } else {
        bucket.start(*group_, scale_of, 0);
      }
      if (!options_.double_buffering) waited_ += bucket.finish(weights, GradientBucket::Use::unchanged);
    }
    if (options_.double_buffering) has_step = finish_previous(std::move(buckets), weights);
  }
  if (options_.parts > 0) divide_sums(parameters, examples);
  end_step();
  return has_step;
}

void GradientExchange::end_step() noexcept {
  ++steps_;
  replicas_ = 1;
  examples_.reset();
  common_.reset();
  forwards_ = 0;
}

// Whether there were gradients of the step before.
bool GradientExchange::finish_previous(std::vector<GradientBucket> started, const std::vector<double>& weights) {
  for (const GradientBucket& bucket : started) {
    for (Parameter* const parameter : bucket.members()) parameter->cleargrad();
  }
  const bool has_step = !previous_.empty();
  for (GradientBucket& bucket : previous_) waited_ += bucket.finish(previous_weights_, GradientBucket::Use::any);
  previous_ = std::move(started);
  previous_weights_ = weights;
  return has_step;
}

void GradientExchange::average(Link& model, bool zero_fill) {
  if (group_->size() == 1) return;
  constexpr const char* kCall = "Communicator::multi_node_mean_grad";
  detail::compare_models(kCall, *group_, model);
  const std::vector<Parameter*> parameters = model.params();
  const std::string marks = merged_marks(marks_of(parameters, zero_fill));
  const bool has_all_shapes = marks.find(kGradient | kNoShape) == std::string::npos;
  if (!has_all_shapes) detail::compare_models(kCall, *group_, model, false);
  const std::vector<double> weights(static_cast<size_t>(group_->size()), 1.0 / group_->size());
  if (!options_.exchanges) return;
  for (GradientBucket& bucket : plan(model, parameters, present_by(marks))) {
    bucket.start(
        *group_, [](const Device&) { return GradientScale(); }, 0);
    bucket.finish(weights, GradientBucket::Use::unchanged);
  }
}

// Backward computes the last parameters' gradients first.
std::vector<GradientBucket> GradientExchange::plan(Link& target, std::span<Parameter* const> parameters,
                                                   const std::vector<bool>& present) {
  std::vector<GradientBucket> buckets;
  std::vector<Parameter*> members;
  int64_t bytes = 0;
  Dtype wire = Dtype::float32;
  const auto flush = [&] {
    if (!members.empty()) buckets.emplace_back(members, wire, detail_of(target, members, buckets.size()));
    members.clear();
    bytes = 0;
  };
  for (int dtype = 0; dtype < kDtypeCount; ++dtype) {
    for (size_t i = parameters.size(); i-- > 0;) {
      Parameter& parameter = *parameters[i];
      if (!present[i] || parameter.dtype() != static_cast<Dtype>(dtype)) continue;
      wire = options_.wire_dtype.value_or(parameter.dtype());
      const bool is_elsewhere = !members.empty() && members[0]->device() != parameter.device();
      const int64_t more = parameter.size() * itemsize(wire);
      if (!members.empty() && (is_elsewhere || bytes + more > options_.bucket_bytes)) flush();
      members.push_back(&parameter);
      bytes += more;
    }
    flush();
  }
  return buckets;
}

const std::string& GradientExchange::detail_of(Link& target, std::span<Parameter* const> members, size_t bucket) {
  details_.resize(std::max(details_.size(), bucket + 1));
  Detail& detail = details_[bucket];
  if (detail.first == members.front() && detail.last == members.back()) return detail.text;
  detail = {members.front(), members.back(), "bucket " + std::to_string(bucket) + ": "};
  std::string last;
  for (const auto& [path, parameter] : target.namedparams()) {
    if (parameter == detail.first) detail.text += path;
    if (parameter == detail.last && detail.first != detail.last) last = " .. " + path;
  }
  return detail.text += last;
}

namespace detail {

std::optional<Dtype> checked_wire_dtype(const char* call, const char* option, std::optional<Dtype> dtype) {
  if (!dtype || is_floating(*dtype)) return dtype;
  throw ValueError(std::string(call) + ": " + option + " is " + name(*dtype) +
                   ": it must be float16, bfloat16, float32 or float64");
}

}  // namespace detail
}  // namespace kusari
