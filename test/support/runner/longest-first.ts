// Orders test files so that long ones begin early: begun last, one of them would keep a single worker busy while the others have no more to do.
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * A sequencer that begins with the files of these names, in this order. A name is the end of a path, without `.test.ts`. Projects keep
 * their order, since a process that has run a file runs another one of its own project alone.
 */
export function longestFirst(names: readonly string[]): typeof BaseSequencer {
  const placeOf = ({ moduleId }: TestSpecification): number => {
    const place = names.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`))
    return place < 0 ? names.length : place
  }
  return class LongestFirst extends BaseSequencer {
    override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
      const sorted = await BaseSequencer.prototype.sort.call(this, files)
      const byProject = Map.groupBy(sorted, ({ project }) => project.name)
      return [...byProject.values()].flatMap((own) =>
        own.toSorted((one, other) => placeOf(one) - placeOf(other)),
      )
    }
  }
}
