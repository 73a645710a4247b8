// Services without the rules of their contracts, for tests that send messages with any content.

import {
  clone,
  create,
  createFileRegistry,
  type DescFile,
  type DescService,
} from '@bufbuild/protobuf'
import {
  type DescriptorProto,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt'
import type { ConnectRouter } from '@connectrpc/connect'

/** A router that registers services without the rules of their contracts. */
export function ruleFreeRouter(router: ConnectRouter): ConnectRouter {
  const ruleFree: ConnectRouter = {
    ...router,
    service(service, implementation, options) {
      router.service(withoutRules(service), implementation, options)
      return ruleFree
    },
  }
  return ruleFree
}

function withoutRules<S extends DescService>(service: S): S {
  const file = [...filesOf(service.file)].map(stripped)
  const registry = createFileRegistry(create(FileDescriptorSetSchema, { file }))
  return registry.getService(service.typeName) as S
}

/** A file and all that it needs, imports first. */
function filesOf(file: DescFile, found = new Set<DescFile>()): Set<DescFile> {
  for (const dependency of file.dependencies) filesOf(dependency, found)
  return found.add(file)
}

function stripped({ proto }: DescFile): FileDescriptorProto {
  const file = clone(FileDescriptorProtoSchema, proto)
  if (!file.package.startsWith('google.') && file.package !== 'buf.validate') {
    for (const message of file.messageType) strip(message)
  }
  return file
}

function strip({ field, oneofDecl, nestedType }: DescriptorProto): void {
  for (const one of [...field, ...oneofDecl]) delete one.options
  for (const nested of nestedType) strip(nested)
}
