#include "kusari/framework/distributed/extensions/generic_multi_node_evaluator.h"

#include <string>
#include <utility>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/distributed/byte_messages.h"

namespace kusari::distributed {

GenericMultiNodeEvaluator::GenericMultiNodeEvaluator(const Communicator& comm, iterators::IteratorRef iterator,
                                                     Link& target, kusari::detail::CallModel call,
                                                     GenericMultiNodeEvaluatorOptions options)
    : comm_{comm}, iterator_{std::move(iterator)}, home_{target.home()}, call_{call}, options_{std::move(options)} {
  if (iterator_->repeat()) {
    throw ValueError(
        "GenericMultiNodeEvaluator: the iterator repeats, so an evaluation would not end: create it with {.repeat = "
        "false}");
  }
  if (options_.root < 0 || options_.root >= comm_.size()) {
    throw ValueError("GenericMultiNodeEvaluator: root is " + std::to_string(options_.root) + ": it must be in [0, " +
                     std::to_string(comm_.size()) + "), the ranks of the communicator");
  }
}

void GenericMultiNodeEvaluator::operator()(training::Trainer&) { (*this)(); }

void GenericMultiNodeEvaluator::operator()() {
  std::vector<Result> results;
  iterator_->reset();
  {
    const auto test_mode = using_config(&Config::train, false);
    const auto no_graph = no_backprop_mode();
    bool more = true;
    while (more) {
      // A round: a batch of each rank that has one. An empty message: the rank has none left.
      MessageWriter own;
      if (const iterators::Batch* batch = iterator_->try_next()) {
        const Device device = options_.device.value_or(Device());
        const datasets::Example arrays =
            options_.converter ? options_.converter(*batch, device) : datasets::concat_examples(*batch, device);
        std::vector<Variable> inputs;
        for (const Array& array : arrays) inputs.emplace_back(array, false);
        own.example(calc_local(inputs));
      }
      for (const std::string& message : comm_.gather_obj(own.bytes(), options_.root)) {
        if (!message.empty()) results.push_back(MessageReader("GenericMultiNodeEvaluator", message).example());
      }
      more = comm_.allreduce_obj(own.bytes().empty() ? 0.0 : 1.0) > 0;
      if (more && comm_.rank() == options_.root && options_.progress_hook) {
        options_.progress_hook(static_cast<int64_t>(results.size()));
      }
    }
  }
  if (comm_.rank() == options_.root) aggregate(results);
}

GenericMultiNodeEvaluator::Result GenericMultiNodeEvaluator::calc_local(std::span<const Variable> inputs) {
  if (call_ == nullptr) {
    throw TypeError("GenericMultiNodeEvaluator: the model cannot be called with variables: override calc_local");
  }
  return {call_(home_->get(), {inputs, iterator_->keys()}).array()};
}

void GenericMultiNodeEvaluator::aggregate(const std::vector<Result>&) {}

}  // namespace kusari::distributed
