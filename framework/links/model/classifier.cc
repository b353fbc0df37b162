#include "kusari/framework/links/model/classifier.h"

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/reporter.h"
#include "kusari/framework/functions/evaluation/accuracy.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"

namespace kusari::links {

ClassifierBase::ClassifierBase(ClassifierOptions options)
    : compute_accuracy{options.compute_accuracy},
      lossfun{std::move(options.lossfun)},
      accfun{std::move(options.accfun)},
      label_key{std::move(options.label_key)} {}
ClassifierBase::ClassifierBase(const ClassifierBase&) = default;
ClassifierBase::ClassifierBase(ClassifierBase&&) noexcept = default;
ClassifierBase& ClassifierBase::operator=(const ClassifierBase&) = default;
ClassifierBase& ClassifierBase::operator=(ClassifierBase&&) noexcept = default;
ClassifierBase::~ClassifierBase() = default;

size_t ClassifierBase::label_place(size_t count) const {
  if (const auto* const key = std::get_if<std::string>(&label_key)) {
    throw ValueError("Classifier: label_key is '" + *key + "', but the variables have no names: give a DictDataset");
  }
  const int place = std::get<int>(label_key), n = static_cast<int>(count);
  if (place < -n || place >= n) {
    throw ValueError("Classifier: label_key is " + std::to_string(place) + ", but there are " + std::to_string(n) +
                     " variables: it must be " + std::to_string(-n) + " .. " + std::to_string(n - 1));
  }
  return static_cast<size_t>(place < 0 ? place + n : place);
}

const std::string& ClassifierBase::label_name(const DictVariables& batch) const {
  if (std::holds_alternative<int>(label_key)) {
    return (batch.begin() + static_cast<ptrdiff_t>(label_place(batch.size())))->first;
  }
  const std::string& key = std::get<std::string>(label_key);
  if (batch.contains(key)) return key;
  std::string message = "Classifier: label_key is '" + key + "', but the variables are";
  for (const auto& [name, variable] : batch) message += " '" + name + "'";
  throw ValueError(message);
}

// The last graph goes before the next one grows.
void ClassifierBase::forget() const {
  y = Variable();
  loss = Variable();
  accuracy = Variable();
}

Variable ClassifierBase::compare_named(const DictVariables& batch,
                                       const Callable<Variable(const DictVariables&)>& predict) const {
  const std::string& label = label_name(batch);
  return compare(predict(batch.without(label)), batch[label]);
}

Variable ClassifierBase::compare(Variable prediction, const Variable& t) const {
  y = std::move(prediction);
  loss = lossfun ? lossfun(y, t) : functions::softmax_cross_entropy(y, t);
  if (compute_accuracy) {
    accuracy = accfun ? accfun(y, t) : functions::accuracy(y, t);
    report({{"loss", loss}, {"accuracy", accuracy}}, *this);
  } else {
    report({{"loss", loss}}, *this);
  }
  if (GraphCapture* const capture = GraphCapture::current()) {
    capture->kept(y);
    capture->kept(loss);
    if (compute_accuracy) capture->kept(accuracy);
  }
  return loss;
}

}  // namespace kusari::links
