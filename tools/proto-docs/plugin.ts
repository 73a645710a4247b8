// A plugin of buf that writes docs/rpc: one page for each of our packages and a list of them; it must not format text.
import { readFileSync } from 'node:fs'
import { create, createFileRegistry, type DescFile, fromBinary, toBinary } from '@bufbuild/protobuf'
import {
  CodeGeneratorRequestSchema,
  CodeGeneratorResponse_Feature,
  CodeGeneratorResponseSchema,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt'
import { renderIndex, renderPackage } from './page.ts'

/** Contracts of others that we speak too. */
const foreign = /^(google|grpc)\./

const request = fromBinary(CodeGeneratorRequestSchema, readFileSync(0))
const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: request.protoFile }))
const files = request.fileToGenerate
  .toSorted()
  .map((name) => registry.getFile(name))
  .filter((file) => file !== undefined)
  .filter(({ proto }) => !foreign.test(proto.package))
const packages = Map.groupBy<string, DescFile>(files, ({ proto }) => proto.package)

const pages = [...packages]
  .toSorted(([one], [other]) => one.localeCompare(other))
  .map(([name, own]) => ({ name: `${name}.md`, content: renderPackage(name, own) }))
const index = packages.size === 0 ? [] : [{ name: 'README.md', content: renderIndex(packages) }]

const response = create(CodeGeneratorResponseSchema, {
  supportedFeatures: BigInt(CodeGeneratorResponse_Feature.PROTO3_OPTIONAL),
  file: [...index, ...pages],
})
process.stdout.write(toBinary(CodeGeneratorResponseSchema, response))
