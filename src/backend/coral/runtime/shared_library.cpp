#include "backend/coral/runtime/shared_library.h"

#include <dlfcn.h>

namespace ec::edgetpu {
namespace {

std::string loader_error() {
  const char* text = ::dlerror();
  return text != nullptr ? text : "no reason given";
}

}  // namespace

SharedLibrary::SharedLibrary(std::string name, void* handle)
    : name_(std::move(name)), handle_(handle, [](void* h) { ::dlclose(h); }) {}

Result<SharedLibrary> SharedLibrary::open(const std::string& name) {
  void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return Error(Code::DeviceUnavailable, "cannot load " + name + ": " + loader_error());
  return SharedLibrary(name, handle);
}

Result<void*> SharedLibrary::find(const char* symbol) const {
  ::dlerror();
  void* address = ::dlsym(handle_.get(), symbol);
  if (address == nullptr)
    return Error(Code::DeviceUnavailable, name_ + " has no " + symbol)
        .hint("install a matching version of the library");
  return address;
}

}  // namespace ec::edgetpu
