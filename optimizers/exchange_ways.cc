#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "kusari/framework/kernels/device_group.h"
#include "kusari/optimizers/divided_gradients.h"
#include "kusari/optimizers/exchange_step.h"
#include "kusari/optimizers/gradient_exchange.h"
#include "kusari/optimizers/optimizer_impl.h"
#include "kusari/optimizers/state_shards.h"

// Other ways than through the host, of whole gradients: those that are divided among the ranks, and those that go from
// device to device.
namespace kusari {

uint64_t GradientExchange::flags_of(Optimizer& optimizer) const {
  const bool divides = options_.shards_gradients && detail::OptimizerAccess::may_divide_gradients(optimizer);
  return divides ? uint64_t{Word::kDivides} : 0;
}

// Before backward comes to the gradients, or after it: all ranks must be able to do without whole ones.
void GradientExchange::divide_ahead(Step& step, Optimizer& optimizer) {
  const std::vector<Word> words = wait_for_words(step);
  check_words(optimizer, words);
  const auto divides = [](const Word& word) {
    return (word.flags & (Word::kDivides | Word::kMustShare)) == Word::kDivides;
  };
  if (!std::all_of(words.begin(), words.end(), divides)) return;
  const std::vector<detail::StateShards::Member> members = detail::OptimizerAccess::assign_shards(optimizer);
  step.divided = std::make_unique<detail::DividedGradients>(
      *group_, *shards_, members,
      detail::DividedGradients::Options{
          .wire = options_.wire_dtype, .weights = weights_of(words), .scale_of = [&optimizer](const Device& device) {
            return detail::OptimizerAccess::gradient_scale(optimizer, device);
          }});
}

void GradientExchange::finish_divided(Step& step, std::span<Parameter* const> parameters) {
  start_until(step, step.divided->buckets().size());
  waited_ += step.divided->finish();
  for (Parameter* const parameter : parameters) {
    if (parameter->is_initialized()) parameter->cleargrad();  // those that are not updated have got this rank's alone
  }
  divided_ = std::move(step.divided);
  end_step();
}

bool GradientExchange::has_device(std::span<Parameter* const> parameters) {
  return !parameters.empty() && parameters[0]->is_initialized() && !parameters[0]->device().is_cpu();
}

// Before the first bucket: all ranks' gradients must be on devices that can exchange them.
void GradientExchange::find_devices(Step& step, const std::vector<Word>& words,
                                    std::span<Parameter* const> parameters) {
  const auto may = [](const Word& word) { return (word.flags & Word::kOnDevice) != 0; };
  if (step.on_device != nullptr || !std::all_of(words.begin(), words.end(), may)) return;
  step.on_device = options_.device_groups->of(parameters[0]->device());
  if (step.on_device == nullptr) return;
  step.on_device->check();
  set_weight(parameters[0]->device(), weights_of(words)[static_cast<size_t>(group_->rank())]);
}

// Where all buckets are planned at once. Gradients on devices get their weights when they are sent.
void GradientExchange::find_devices_ahead(Step& step, std::span<Parameter* const> parameters) {
  if (options_.device_groups == nullptr || !has_device(parameters)) return;
  find_devices(step, wait_for_words(step), parameters);
}

// As far as this rank has heard of it.
bool GradientExchange::others_must_share(const Step& step) {
  return step.has_words && std::any_of(step.words->begin(), step.words->end(),
                                       [](const Word& word) { return (word.flags & Word::kMustShare) != 0; });
}

void GradientExchange::set_weight(const Device& device, double weight) {
  if (inverse_weight_ == nullptr) inverse_weight_ = std::make_unique<detail::DeviceNumbers>();
  const double inverse = 1 / weight;
  inverse_weight_->write(device, &inverse, 1);
}

}  // namespace kusari
