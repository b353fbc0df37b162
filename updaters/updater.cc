#include "kusari/updaters/updater.h"

namespace kusari::updaters {

Updater::~Updater() = default;

void Updater::connect_trainer(training::Trainer&) {}

void Updater::finalize() {}

}  // namespace kusari::updaters
