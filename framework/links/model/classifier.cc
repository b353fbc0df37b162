#include "kusari/framework/links/model/classifier.h"

#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/reporter.h"
#include "kusari/framework/functions/evaluation/accuracy.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"

namespace kusari::links {

ClassifierBase::ClassifierBase(ClassifierOptions options)
    : compute_accuracy{options.compute_accuracy},
      lossfun{std::move(options.lossfun)},
      accfun{std::move(options.accfun)} {}

// The last graph goes before the next one grows.
void ClassifierBase::forget() {
  y = Variable();
  loss = Variable();
  accuracy = Variable();
}

Variable ClassifierBase::compare(Variable prediction, const Variable& t) {
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
