// Holds the vendored contract of the rules to the one that the package which checks them was built with.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { clearField, createRegistry, fromBinary, toJson } from '@bufbuild/protobuf'
import {
  file_google_protobuf_descriptor as descriptors,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt'
import { file_buf_validate_validate as packaged } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js'
import { expect, it } from 'vitest'

const root = join(import.meta.dirname, '..', '..')
const vendored = join('proto', 'vendor', 'protovalidate', 'buf', 'validate', 'validate.proto')

function readable(file: FileDescriptorProto): unknown {
  clearField(file, FileDescriptorProtoSchema.field.sourceCodeInfo)
  return toJson(FileDescriptorProtoSchema, file, {
    registry: createRegistry(packaged, descriptors),
  })
}

it('the vendored contract of the rules says what that of the package says', () => {
  const image = execFileSync('buf', ['build', 'proto', '--path', vendored, '--output', '-'], {
    cwd: root,
  })
  const { file } = fromBinary(FileDescriptorSetSchema, image)
  const compiled = file.find(({ name }) => name === packaged.proto.name)
  expect(compiled && readable(compiled)).toEqual(readable(packaged.proto))
})

it('the vendored contract names the version of the package that it was made from', () => {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  const version = dependencies['@bufbuild/protovalidate']
  expect(readFileSync(join(root, vendored), 'utf8')).toContain(`protovalidate ${version}`)
})
