#pragma once

#include <string>

#include "kusari/tests/golden_runner/golden_case.h"

// One runner per kind of case: returns when the case passes, throws Mismatch or any other exception when it does not,
// and Unsupported when there is nothing to run it with.
namespace kusari::golden {

void run_function(const Case& c);
void run_initializer(const Case& c);
void run_link(const Case& c);
void run_loss_scaling(const Case& c);
void run_optimizer(const Case& c);
void run_scheduler(const Case& c);
void run_serializer(const Case& c);
/// The part of run_serializer that is about trainers.
void run_trainer(const Case& c, const std::string& snapshot);

}  // namespace kusari::golden
