#include "driver/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "driver/core_options.h"
#include "support/strings.h"

namespace ec {

// EC_MORE_BACKENDS names a second list of the same form: a build with back ends of its own.
#define EC_FRONTEND(name) const Frontend& name##_frontend();
#include "frontend/frontends.def"
#undef EC_FRONTEND
#define EC_BACKEND(name) const Backend& name##_backend();
#define EC_ABSENT_BACKEND(name, extension, summary)
#include "backend/backends.def"
#ifdef EC_MORE_BACKENDS
#include EC_MORE_BACKENDS
#endif
#undef EC_BACKEND
#undef EC_ABSENT_BACKEND

namespace {

constexpr AbsentBackend kAbsent[] = {
#define EC_BACKEND(name)
#define EC_ABSENT_BACKEND(name, extension, summary) {#name, extension, summary},
#include "backend/backends.def"
#undef EC_BACKEND
#undef EC_ABSENT_BACKEND
};

// The lists of a build have each name once; a test proves it.
void expect_ok(const Status& status) {
  assert(status.ok());
  (void)status;
}

template <class T>
Status check_free(const std::vector<const T*>& known, std::string_view name,
                  std::string_view (*name_of)(const T&)) {
  for (const T* one : known)
    if (name_of(*one) == name)
      return Error(Code::Internal, fmt::format("the name '{}' is taken", printable(name)));
  return {};
}

}  // namespace

Registry Registry::built_in() {
  Registry registry;
#define EC_FRONTEND(name) expect_ok(registry.add(name##_frontend()));
#include "frontend/frontends.def"
#undef EC_FRONTEND
  for (const quantize::Strategy& strategy : quantize::all_strategies())
    expect_ok(registry.add(strategy));
  for (const OptionGroup& group : core_option_groups()) expect_ok(registry.options().add(group));
#define EC_BACKEND(name) expect_ok(registry.add(name##_backend()));
#define EC_ABSENT_BACKEND(name, extension, summary)
#include "backend/backends.def"
#ifdef EC_MORE_BACKENDS
#include EC_MORE_BACKENDS
#endif
#undef EC_BACKEND
#undef EC_ABSENT_BACKEND
  registry.absent_.assign(std::begin(kAbsent), std::end(kAbsent));
  return registry;
}

Status Registry::add(const Frontend& frontend) {
  EC_CHECK_OK(check_free<Frontend>(frontends_, frontend.name(),
                                   [](const Frontend& f) { return f.name(); }));
  frontends_.push_back(&frontend);
  return {};
}

Status Registry::add(const quantize::Strategy& strategy) {
  EC_CHECK_OK(check_free<quantize::Strategy>(strategies_, strategy.name,
                                             [](const quantize::Strategy& s) { return s.name; }));
  strategies_.push_back(&strategy);
  return {};
}

Status Registry::add(const Backend& backend) {
  const BackendInfo& info = backend.info();
  EC_CHECK_OK(
      check_free<Backend>(backends_, info.name, [](const Backend& b) { return b.info().name; }));
  for (const PassInfo* pass : info.passes) EC_CHECK_OK(passes_.add(*pass));
  for (const NamedPipeline& pipeline : info.pipelines) EC_CHECK_OK(passes_.add(pipeline));
  if (!info.options.empty()) EC_CHECK_OK(options_.add({info.name, info.options, info.name}));
  // A planned target is one no longer.
  std::erase_if(absent_, [&](const AbsentBackend& absent) { return absent.name == info.name; });
  backends_.push_back(&backend);
  return {};
}

std::string Registry::backend_names() const {
  std::string text;
  for (const Backend* backend : backends_)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", backend->info().name);
  return text;
}

Result<const Backend*> Registry::find_backend(std::string_view name) const {
  if (name.empty()) return backends_.front();
  if (name == "auto") {
    for (const Backend* backend : backends_)
      if (backend->has_device()) return backend;
    return backends_.front();
  }
  const std::string_view family = name.substr(0, name.find(':'));
  for (const Backend* backend : backends_)
    if (backend->info().name == family) return backend;
  for (const AbsentBackend& absent : absent_)
    if (absent.name == family)
      return Error(Code::UnknownTarget,
                   fmt::format("target '{}' ({}) is not in this build", name, absent.summary))
          .hint("available here: " + backend_names());
  std::vector<std::string_view> known = {"auto"};
  for (const Backend* backend : backends_) known.push_back(backend->info().name);
  for (const AbsentBackend& absent : absent_) known.push_back(absent.name);
  std::string hint = did_you_mean(family, known);
  if (hint.empty()) hint = "`edgecompile targets` lists the targets";
  return Error(Code::UnknownTarget, fmt::format("unknown target '{}'", printable(name)))
      .hint(std::move(hint));
}

Result<const quantize::Strategy*> Registry::find_strategy(std::string_view name) const {
  return quantize::find_strategy(strategies_, name);
}

Registry& default_registry() {
  static Registry registry = Registry::built_in();
  return registry;
}

}  // namespace ec
