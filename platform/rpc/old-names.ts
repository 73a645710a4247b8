// The names that our contracts had before their packages moved below `payweave.`, for the version that serves both.

import {
  clone,
  create,
  createFileRegistry,
  type DescFile,
  type FileRegistry,
} from '@bufbuild/protobuf'
import {
  type DescriptorProto,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt'
import type { UniversalHandler, UniversalServerRequest } from '@connectrpc/connect/protocol'

/**
 * The name of before: `payments.v1.PaymentsService` of `payweave.payments.v1.PaymentsService`, and likewise for a method, a
 * path, a type with a leading dot and a file. Other names stay as they are.
 *
 * Processes of the previous release know these names alone. So this release serves both and calls these, and the next one can
 * call the new ones.
 */
export function oldName(name: string): string {
  return name.replace(/^([./]?)payweave[./]/, '$1')
}

/** Handlers under their own paths, and those of our contracts also under the old ones. */
export function withOldPaths(handlers: readonly UniversalHandler[]): UniversalHandler[] {
  return handlers.flatMap((handler) => {
    const requestPath = oldName(handler.requestPath)
    if (requestPath === handler.requestPath) return [handler]
    const old = (request: UniversalServerRequest) => handler(request)
    return [handler, Object.assign(old, { ...handler, requestPath })]
  })
}

/** The same contracts under their old names, with all that they import. */
export function oldFiles(files: Iterable<DescFile>): FileRegistry {
  const ordered = new Set<DescFile>()
  for (const file of files) addAfterImports(file, ordered)
  const file = [...ordered].map(({ proto }) => renamed(proto))
  return createFileRegistry(create(FileDescriptorSetSchema, { file }))
}

function addAfterImports(file: DescFile, ordered: Set<DescFile>): void {
  if (ordered.has(file)) return
  for (const imported of file.dependencies) addAfterImports(imported, ordered)
  ordered.add(file)
}

function renamed(proto: FileDescriptorProto): FileDescriptorProto {
  const file = clone(FileDescriptorProtoSchema, proto)
  file.name = oldName(file.name)
  file.package = oldName(file.package)
  file.dependency = file.dependency.map(oldName)
  for (const message of file.messageType) renameFields(message)
  for (const method of file.service.flatMap((service) => service.method)) {
    method.inputType = oldName(method.inputType)
    method.outputType = oldName(method.outputType)
  }
  return file
}

function renameFields({ field, nestedType }: DescriptorProto): void {
  for (const one of field) one.typeName = oldName(one.typeName)
  for (const nested of nestedType) renameFields(nested)
}
